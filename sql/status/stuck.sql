-- Stuck events: dead events and those that back off, by reason, type and destination, and the held
-- aggregates. Scans at most 20,000 dead and 20,000 parked events, and the 50,000 that are due first. The
-- flags `…_more` say whether there are others. Names are truncated to 300 characters to limit the size of the
-- answer.
WITH dead AS MATERIALIZED (
  SELECT 'dead' AS state, e.last_error_code AS code, left(e.event_type, 300) AS event_type,
         left(coalesce(e.failed_exchange, e.exchange), 300) AS exchange,
         left(coalesce(e.failed_routing_key, e.routing_key, e.event_type), 300) AS routing_key,
         e.first_failed_at, false AS waits, e.id, e.seq, e.created_at, e.attempts,
         left(e.last_error, 1000) AS last_error, NULL::timestamptz AS available_at,
         left(e.aggregate_type, 300) AS aggregate_type, left(e.aggregate_id, 300) AS aggregate_id
  FROM @schema@.event AS e
  WHERE e.exception = 'dead' ORDER BY e.exception, e.seq LIMIT 20001),
due AS MATERIALIZED (
  SELECT e.exception, e.last_error_code AS code, left(e.event_type, 300) AS event_type,
         left(coalesce(e.failed_exchange, e.exchange), 300) AS exchange,
         left(coalesce(e.failed_routing_key, e.routing_key, e.event_type), 300) AS routing_key,
         e.first_failed_at, e.waits_for IS NOT NULL AS waits, e.id, e.seq, e.created_at, e.attempts,
         left(e.last_error, 1000) AS last_error, e.available_at,
         left(e.aggregate_type, 300) AS aggregate_type, left(e.aggregate_id, 300) AS aggregate_id
  FROM @schema@.event AS e
  WHERE e.exception IN ('scheduled', 'backing_off') ORDER BY e.available_at, e.seq LIMIT 50001),
failed AS MATERIALIZED (
  SELECT * FROM dead
  UNION ALL
  SELECT 'backing_off', d.code, d.event_type, d.exchange, d.routing_key, d.first_failed_at, d.waits, d.id,
         d.seq, d.created_at, d.attempts, d.last_error, d.available_at, d.aggregate_type, d.aggregate_id
  FROM due AS d WHERE d.exception = 'backing_off'),
kinds AS MATERIALIZED (
  SELECT f.state, f.code, f.event_type, f.exchange, f.routing_key, f.waits, count(*) AS events,
         min(f.first_failed_at) AS failing_since,
         min(f.created_at) AS oldest, max(f.created_at) AS newest, min(f.available_at) AS next,
         min(f.seq) AS first
  FROM failed AS f GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 7 DESC, 1, 2, 3, 4, 5 LIMIT 101),
parked AS MATERIALIZED (
  SELECT left(e.aggregate_type, 300) AS aggregate_type, left(e.aggregate_id, 300) AS aggregate_id,
         e.created_at
  FROM @schema@.event AS e
  WHERE e.exception = 'parked' AND e.exception IN ('backing_off', 'parked') ORDER BY @hash@ LIMIT 20001),
held AS MATERIALIZED (
  SELECT p.aggregate_type, p.aggregate_id, count(*) AS events, min(p.created_at) AS oldest
  FROM parked AS p GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 21)
SELECT json_build_object(
  'failures', (
    SELECT coalesce(json_agg(json_build_object(
      'state', k.state, 'code', k.code, 'event_type', k.event_type, 'exchange', k.exchange,
      'routing_key', k.routing_key, 'events', k.events, 'oldest', k.oldest, 'newest', k.newest,
      'waits_for_destination', k.waits, 'failing_since', k.failing_since,
      'next', CASE WHEN isfinite(k.next) THEN k.next END,
      'example', (
        SELECT json_build_object('id', f.id, 'attempts', f.attempts, 'last_error', f.last_error)
        FROM failed AS f WHERE f.seq = k.first AND f.state = k.state LIMIT 1))
      ORDER BY k.events DESC, k.state, k.code, k.event_type), '[]')
    FROM (SELECT * FROM kinds LIMIT 100) AS k),
  'failures_more', (SELECT count(*) FROM dead) > 20000 OR (SELECT count(*) FROM due) > 50000
                   OR (SELECT count(*) FROM kinds) > 100,
  'held', (
    SELECT coalesce(json_agg(json_build_object(
      'aggregate_type', h.aggregate_type, 'aggregate_id', h.aggregate_id, 'events', h.events,
      'oldest', h.oldest,
      'behind', (
        SELECT json_build_object('id', f.id, 'state', f.state, 'code', f.code, 'last_error', f.last_error,
          'attempts', f.attempts, 'available_at', CASE WHEN isfinite(f.available_at) THEN f.available_at END)
        FROM failed AS f
        WHERE f.aggregate_type = h.aggregate_type AND f.aggregate_id = h.aggregate_id
        ORDER BY f.state, f.seq LIMIT 1))
      ORDER BY h.events DESC, h.aggregate_type, h.aggregate_id), '[]')
    FROM (SELECT * FROM held LIMIT 20) AS h),
  'held_more', (SELECT count(*) FROM parked) > 20000 OR (SELECT count(*) FROM held) > 20)
