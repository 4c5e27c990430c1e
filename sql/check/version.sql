-- The server's version. Each statement in this folder is a check: it returns findings as verdict (ok, warning
-- or failure), text and remedy, of which the first one counts. If it returns no row, all is well.
SELECT CASE WHEN v.is_old THEN 'failure' ELSE 'ok' END,
       format('PostgreSQL %s%s', current_setting('server_version'),
              CASE WHEN v.is_old THEN '; outboxd needs 14 or newer' END),
       'pg_upgrade to a newer PostgreSQL'
FROM (SELECT current_setting('server_version_num')::integer < @oldest_server@ AS is_old) AS v
