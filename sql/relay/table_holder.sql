-- Who holds a lock on the table, or on a partition of it, that no mark gets past, or waits for one before
-- everybody else. Columns as in lead_holder; the first says behind which session a waiting one stands, 0 for
-- one that has the lock.
SELECT CASE WHEN l.granted THEN 0 ELSE coalesce((pg_blocking_pids(l.pid))[1], 0) END::bigint,
       l.mode, l.pid, a.usename::text, a.application_name, a.query
FROM pg_locks AS l
JOIN pg_class AS c ON c.oid = l.relation
JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.locktype = 'relation'
  AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
  AND n.nspname = @schema_text@ AND (c.relname = 'event' OR EXISTS (
    SELECT FROM pg_inherits AS i JOIN pg_class AS p ON p.oid = i.inhparent
    WHERE i.inhrelid = c.oid AND p.relname = 'event' AND p.relnamespace = n.oid))
  AND l.pid IS DISTINCT FROM pg_backend_pid()
  AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
ORDER BY NOT l.granted, l.waitstart
LIMIT 1
