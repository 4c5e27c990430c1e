-- Sessions that block this command, described as text: they hold locks of the outbox, or of another
-- migration.
SELECT string_agg(DISTINCT format('pid %s (user %s, application %s)', a.pid, a.usename, a.application_name),
                  ', ')
FROM pg_catalog.pg_locks AS l JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid
WHERE l.granted AND l.pid <> pg_backend_pid() AND a.datname = current_database()
  AND (l.locktype = 'relation' AND l.relation IN (
         SELECT c.oid FROM pg_catalog.pg_class AS c
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = @schema_text@)
       OR l.locktype = 'advisory' AND (l.classid = @lock_class@ AND l.objid < @most_shards@
                                       OR a.application_name = 'outboxd migrate'))
