-- Sessions whose locks prevent relays from leading a shard, from being idle, or from reading and marking
-- events: $1 claim_timeout in milliseconds. Each session of a relay holds the lock RELAY, and its user may
-- save positions; any other session does not belong to a relay. A relay is active at least four times per
-- claim_timeout: a session that holds a lead and has been in the same state for longer does not belong to a
-- working relay, and `waits_for` says what it waits for. For an idle session the limit is three times as
-- long, because its relay may have another claim_timeout. A prepared transaction has no pid. A lock that was
-- not granted yet blocks all requests after it.
WITH locks AS MATERIALIZED (
  SELECT l.pid, l.objid::bigint AS key, l.mode
  FROM pg_locks AS l
  WHERE l.locktype = 'advisory' AND l.classid = @lock_class@::oid AND l.objsubid = 2 AND l.granted
    AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())),
holders AS MATERIALIZED (
  SELECT CASE WHEN l.key < @most_shards@ THEN 'leading' ELSE 'sleeping' END AS keeps_from,
         (l.key % @most_shards@)::integer AS shard, l.mode, l.pid, true AS granted,
         CASE WHEN s.is_relay THEN coalesce(a.wait_event, 'nothing that PostgreSQL knows') END AS waits_for
  FROM locks AS l
  LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
  CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT FROM locks AS r WHERE r.pid = l.pid AND r.key = @relay_key@)
      AND coalesce(has_table_privilege(a.usesysid, format('%I.shard', @schema_text@), 'UPDATE'), false)
      AS is_relay) AS s
  WHERE (l.key < @most_shards@
         OR l.key < @present_key@ AND (l.mode = 'ExclusiveLock'
                             OR a.xact_start < clock_timestamp() - interval '10 seconds'))
    AND (NOT s.is_relay OR l.key < @most_shards@ AND a.state_change < clock_timestamp()
           - CASE a.state WHEN 'idle' THEN 3 ELSE 1 END * $1::bigint * interval '1 millisecond')
  UNION ALL
  SELECT DISTINCT 'writing', NULL::integer, l.mode, l.pid, l.granted, NULL  -- on the table or its partitions
  FROM pg_locks AS l
  JOIN pg_class AS c ON c.oid = l.relation
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
  WHERE l.locktype = 'relation'
    AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
    AND n.nspname = @schema_text@ AND (c.relname = 'event' OR EXISTS (
      SELECT FROM pg_inherits AS i JOIN pg_class AS p ON p.oid = i.inhparent
      WHERE i.inhrelid = c.oid AND p.relname = 'event' AND p.relnamespace = n.oid))
    AND l.pid IS DISTINCT FROM pg_backend_pid()
    AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))
SELECT h.keeps_from, h.shard, h.mode, h.pid, h.granted, a.usename::text AS user_name, a.application_name,
       h.waits_for, a.query
FROM holders AS h
LEFT JOIN pg_stat_activity AS a ON a.pid = h.pid
ORDER BY h.keeps_from, h.shard, h.granted DESC, h.pid
LIMIT 20
