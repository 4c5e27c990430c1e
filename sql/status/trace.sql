-- The events with an id. There is usually one, but a partitioned outbox may have one in each partition. No
-- row is returned if no such event exists, or if it is not visible.
-- $1 id
--
-- `read`: whether the saved position has passed the event's seq, so that the event is in the leader's memory
-- or was settled since.
WITH locks AS MATERIALIZED (
  SELECT l.pid, l.objid::bigint AS key, l.mode
  FROM pg_locks AS l
  WHERE l.locktype = 'advisory' AND l.classid = @lock_class@::oid AND l.objsubid = 2 AND l.granted
    AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()))
SELECT json_build_object(
  'id', e.id, 'seq', e.seq, 'aggregate_type', e.aggregate_type, 'aggregate_id', e.aggregate_id,
  'event_type', e.event_type, 'exchange', e.exchange, 'routing_key', e.routing_key,
  'replay_exchange', e.replay_exchange, 'replay_routing_key', e.replay_routing_key,
  -- A pending event counts as scheduled if the relay will record it as scheduled when it reads it.
  'status', e.status, 'exception', CASE
    WHEN e.status = 'pending' AND @is_scheduled@ THEN 'scheduled'
    ELSE e.exception END,
  'attempts', e.attempts, 'first_failed_at', e.first_failed_at,
  'waits_for', CASE WHEN e.exception = 'backing_off' AND e.waits_for IS NOT NULL
    THEN json_build_object('exchange', e.failed_exchange, 'routing_key', e.failed_routing_key) END,
  'created_at', e.created_at, 'available_at', e.available_at, 'published_at', e.published_at,
  'last_error', e.last_error, 'last_error_code', e.last_error_code,
  'age_seconds', CASE WHEN isfinite(e.created_at)
    THEN round(extract(epoch FROM clock_timestamp() - e.created_at), 3) END,
  'due_in_seconds', CASE WHEN isfinite(e.available_at)
    THEN round(extract(epoch FROM e.available_at - clock_timestamp()), 3) END,
  'due', (e.available_at > clock_timestamp()) IS NOT TRUE,
  'shard', s.shard, 'position', s.seq, 'read', coalesce(s.seq >= e.seq, false),
  'unsettled', e.seq = ANY (s.unsettled),
  'younger_than_position',
    coalesce(e.tx >= pg_snapshot_xmax(s.seen) OR NOT pg_visible_in_snapshot(e.tx, s.seen), false),
  'all_paused', EXISTS (
    SELECT FROM @schema@.pause AS p
    WHERE p.part = 'everything' AND (p.until IS NULL OR p.until > clock_timestamp())),
  'doorbell', CASE WHEN NOT s.rings THEN 'off' WHEN EXISTS (
      SELECT FROM locks AS l
      WHERE l.key = @sleep_key@ + s.shard AND l.mode = 'ExclusiveLock') THEN 'asleep' ELSE 'awake' END,
  'leader', (
    SELECT json_build_object('name', a.application_name, 'pid', a.pid, 'address', host(a.client_addr))
    FROM locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
    WHERE l.key = s.shard AND l.mode = 'ExclusiveLock'
      AND EXISTS (SELECT FROM locks AS r WHERE r.pid = l.pid AND r.key = @relay_key@)
      AND coalesce(has_table_privilege(a.usesysid, format('%I.shard', @schema_text@), 'UPDATE'), false)
    LIMIT 1),
  'locked_by', (
    SELECT json_build_object('pid', l.pid, 'user', a.usename, 'application', a.application_name)
    FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
    WHERE l.locktype = 'transactionid' AND l.granted AND l.transactionid = e.xmax
      AND l.pid IS DISTINCT FROM pg_backend_pid()
    LIMIT 1))
FROM @schema@.event AS e
JOIN @schema@.shard AS s ON s.shard = (@hash@ & ((SELECT count(*) FROM @schema@.shard) - 1))
WHERE e.id = $1::uuid
ORDER BY e.seq
