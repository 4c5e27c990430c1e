-- Who holds the lead of a shard without being a relay that is well: every session of a relay holds the lock
-- RELAY as well, its user may save positions, and it is heard of four times in claim_timeout. $1 key 1 of the
-- locks, $2 claim_timeout in milliseconds. Columns as in each statement that names a culprit: see
-- relay/culprit; and what a session waits for that is a relay's no more. An idle one has three times as long:
-- its relay may have another claim_timeout.
WITH locks AS MATERIALIZED (
  SELECT l.pid, l.objid, l.mode
  FROM pg_locks AS l
  WHERE l.locktype = 'advisory' AND l.classid = $1::integer::oid AND l.objsubid = 2 AND l.granted
    AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())),
found AS MATERIALIZED (
  SELECT l.objid::bigint AS shard, l.mode, l.pid, a.usename::text, a.application_name, a.query, a.wait_event,
         EXISTS (SELECT FROM locks AS r WHERE r.pid = l.pid AND r.objid = 129::oid)
           AND coalesce(has_table_privilege(a.usesysid, format('%I.shard', @schema_text@), 'UPDATE'), false)
           AS is_relay,
         coalesce(a.state_change < clock_timestamp()
           - CASE a.state WHEN 'idle' THEN 3 ELSE 1 END * $2::bigint * interval '1 millisecond', false)
           AS is_silent
  FROM locks AS l
  LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
  WHERE l.objid < 64::oid)
SELECT f.shard, f.mode, f.pid, f.usename, f.application_name, f.query,
       CASE WHEN f.is_relay THEN coalesce(f.wait_event, 'nothing that PostgreSQL knows') END
FROM found AS f
WHERE NOT f.is_relay OR f.is_silent
ORDER BY f.shard, f.pid
LIMIT 1
