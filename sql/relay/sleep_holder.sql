-- Who holds SLEEP of a shard, whose leader does not get it: an exclusive holder, else the oldest transaction.
-- $1 key 1 of the locks,
-- $2 shard. Columns as in lead_holder.
SELECT $2::bigint, l.mode, l.pid, a.usename::text, a.application_name, a.query
FROM pg_locks AS l
LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.classid = $1::integer::oid AND l.objid = (64 + $2::bigint)::oid
  AND l.objsubid = 2 AND l.granted
  AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
ORDER BY l.mode, a.xact_start
LIMIT 1
