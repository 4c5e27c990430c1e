-- Sessions that are no relay's and keep relays from leading, sleeping or marking: see
-- sql/relay/lead_holder.sql, sleep_holder.sql and table_holder.sql. $1 claim_timeout in milliseconds: a
-- session that holds a lead and does the same thing for longer is no relay's any more.
WITH locks AS MATERIALIZED (
  SELECT l.pid, l.objid::bigint AS key, l.mode
  FROM pg_locks AS l
  WHERE l.locktype = 'advisory' AND l.classid = @lock_class@::oid AND l.objsubid = 2 AND l.granted
    AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())),
found AS MATERIALIZED (
  SELECT CASE WHEN l.key < 64 THEN 'leading' ELSE 'sleeping' END AS keeps_from,
         (l.key % 64)::integer AS shard, l.mode, l.pid,
         CASE WHEN s.is_relay THEN coalesce(a.wait_event, 'nothing that PostgreSQL knows') END AS waits_for
  FROM locks AS l
  LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
  CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT FROM locks AS r WHERE r.pid = l.pid AND r.key = 129)
      AND coalesce(has_table_privilege(a.usesysid, format('%I.shard', @schema_text@), 'UPDATE'), false)
      AS is_relay) AS s
  WHERE (l.key < 64 OR l.key < 128 AND l.mode = 'ExclusiveLock')
    AND (NOT s.is_relay OR l.key < 64 AND a.state_change < clock_timestamp()
           - CASE a.state WHEN 'idle' THEN 3 ELSE 1 END * $1::bigint * interval '1 millisecond')
  UNION ALL
  SELECT DISTINCT 'writing', NULL::integer, l.mode, l.pid, NULL  -- on the table, and on each partition
  FROM pg_locks AS l
  JOIN pg_class AS c ON c.oid = l.relation
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
  WHERE l.locktype = 'relation'
    AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
    AND n.nspname = @schema_text@ AND (c.relname = 'event' OR EXISTS (
      SELECT FROM pg_inherits AS i JOIN pg_class AS p ON p.oid = i.inhparent
      WHERE i.inhrelid = c.oid AND p.relname = 'event' AND p.relnamespace = n.oid)) AND l.granted
    AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))
SELECT json_build_object('culprits', coalesce(json_agg(json_build_object(
  'keeps_from', f.keeps_from, 'shard', f.shard, 'mode', f.mode, 'pid', f.pid, 'user', a.usename,
  'application', a.application_name, 'waits_for', f.waits_for)
  ORDER BY f.keeps_from, f.shard, f.pid), '[]'))
FROM (SELECT * FROM found LIMIT 20) AS f LEFT JOIN pg_stat_activity AS a ON a.pid = f.pid
