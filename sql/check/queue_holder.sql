-- The session that prevents the server's notification queue from being emptied: it has executed LISTEN, in
-- any database, and its transaction is still open. $1 the process named in the server's warning, or 0.
-- PostgreSQL does not show which sessions listen: without the warning, the oldest transaction is reported, if
-- this user may see when other transactions began. Columns as in locks; the mode says where and since when,
-- and `named` whether the server has named the process.
SELECT CASE WHEN a.pid = $1::integer THEN 'named' ELSE 'guessed' END, NULL,
       concat('in database ', a.datname, to_char(a.xact_start, '" since "YYYY-MM-DD"T"HH24:MI:SSOF')),
       a.pid::text, a.usename::text, a.application_name, a.query
FROM pg_stat_activity AS a
WHERE a.pid <> pg_backend_pid() AND a.usesysid IS NOT NULL
  AND (a.pid = $1::integer OR a.xact_start IS NOT NULL AND a.usename <> current_user)
  AND a.pid IN (SELECT l.pid FROM pg_locks AS l WHERE l.locktype = 'virtualxid' AND l.granted)
ORDER BY a.pid = $1::integer DESC, a.xact_start
LIMIT 1
