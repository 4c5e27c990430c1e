-- Who keeps the server's queue of notifications from being emptied: a session of any database that listens,
-- and whose transaction lasts. $1 the process that the server has named, or 0. PostgreSQL does not show who
-- listens: without that word it is said to be the oldest transaction, if this user may see since when others
-- last. Columns as in locks; the mode says where and since when, and `named` whether the server has named it.
SELECT CASE WHEN a.pid = $1::integer THEN 'named' ELSE 'guessed' END, NULL,
       concat('in database ', a.datname, to_char(a.xact_start, '" since "YYYY-MM-DD"T"HH24:MI:SSOF')),
       a.pid::text, a.usename::text, a.application_name, a.query
FROM pg_stat_activity AS a
WHERE a.pid <> pg_backend_pid() AND a.usesysid IS NOT NULL
  AND (a.pid = $1::integer OR a.xact_start IS NOT NULL AND a.usename <> current_user)
  AND a.pid IN (SELECT l.pid FROM pg_locks AS l WHERE l.locktype = 'virtualxid' AND l.granted)
ORDER BY a.pid = $1::integer DESC, a.xact_start
LIMIT 1
