-- Who holds the lead of a shard without being a relay: every session of a relay holds the lock RELAY as well,
-- and its user may save positions. $1 key 1 of the locks. Columns as in each statement that names a culprit:
-- see relay/culprit.
WITH locks AS MATERIALIZED (
  SELECT l.pid, l.objid, l.mode
  FROM pg_locks AS l
  WHERE l.locktype = 'advisory' AND l.classid = $1::integer::oid AND l.objsubid = 2 AND l.granted
    AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()))
SELECT l.objid::bigint, l.mode, l.pid, a.usename::text, a.application_name, a.query
FROM locks AS l
LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.objid < 64::oid
  AND NOT (EXISTS (SELECT FROM locks AS r WHERE r.pid = l.pid AND r.objid = 129::oid)
           AND coalesce(has_table_privilege(a.usesysid, format('%I.shard', @schema_text@), 'UPDATE'), false))
ORDER BY l.objid, l.pid
LIMIT 1
