-- The unfinished event that blocks a given event.
-- $1 id
-- $2 seq
--
-- The query prefers an event that backs off, then a parked one, then a pending one. For a parked event, it
-- considers dead ones last (relay.after_dead = hold). Aggregates are identified by their hashes, as in the
-- relay. It searches pending events above the saved position, in at most 100,000 rows, and those listed as
-- unsettled.
WITH this AS MATERIALIZED (
  SELECT e.seq, @hash@ AS hash, e.exception, s.seq AS position, s.unsettled
  FROM @schema@.event AS e
  JOIN @schema@.shard AS s ON s.shard = (@hash@ & ((SELECT count(*) FROM @schema@.shard) - 1))
  WHERE e.id = $1::uuid AND e.seq = $2::bigint),
holding AS MATERIALIZED (
  SELECT e.id, e.seq FROM @schema@.event AS e
  WHERE e.exception IN ('backing_off', 'parked') AND @hash@ = (SELECT t.hash FROM this AS t)
    AND e.seq < (SELECT t.seq FROM this AS t)
  ORDER BY e.exception, e.seq LIMIT 1),
pending AS MATERIALIZED (
  SELECT p.id, p.seq FROM (
    SELECT e.id, e.seq, @hash@ AS hash, e.status, e.available_at, e.created_at FROM @schema@.event AS e
    WHERE e.seq = ANY (ARRAY(SELECT u FROM this AS t CROSS JOIN LATERAL unnest(t.unsettled) AS u))
    UNION ALL
    (SELECT e.id, e.seq, @hash@ AS hash, e.status, e.available_at, e.created_at FROM @schema@.event AS e
     WHERE e.seq > (SELECT coalesce(t.position, -9223372036854775808) FROM this AS t)
       AND e.seq < (SELECT t.seq FROM this AS t)
     ORDER BY e.seq DESC LIMIT 100000)) AS p
  WHERE p.status = 'pending' AND NOT @is_scheduled@
    AND p.hash = (SELECT t.hash FROM this AS t)
    AND p.seq < (SELECT t.seq FROM this AS t)
  ORDER BY p.seq LIMIT 1),
dead AS MATERIALIZED (
  SELECT d.id, d.seq FROM (
    SELECT e.id, e.seq, @hash@ AS hash FROM @schema@.event AS e
    WHERE e.exception = 'dead' AND (SELECT t.exception = 'parked' FROM this AS t)
    ORDER BY e.exception, e.seq LIMIT 100000) AS d
  WHERE d.hash = (SELECT t.hash FROM this AS t) AND d.seq < (SELECT t.seq FROM this AS t)
  ORDER BY d.seq LIMIT 1)
SELECT json_build_object('id', e.id, 'seq', e.seq, 'status', e.status, 'exception', e.exception,
  'attempts', e.attempts, 'first_failed_at', e.first_failed_at,
  'waits_for', CASE WHEN e.exception = 'backing_off' AND e.waits_for IS NOT NULL
    THEN json_build_object('exchange', e.failed_exchange, 'routing_key', e.failed_routing_key) END,
  'available_at', e.available_at,
  'due_in_seconds', CASE WHEN isfinite(e.available_at)
    THEN round(extract(epoch FROM e.available_at - clock_timestamp()), 3) END,
  'due', (e.available_at > clock_timestamp()) IS NOT TRUE,
  'last_error', e.last_error, 'last_error_code', e.last_error_code)
FROM @schema@.event AS e
WHERE e.id = coalesce((SELECT h.id FROM holding AS h), (SELECT p.id FROM pending AS p),
                      (SELECT d.id FROM dead AS d))
  AND e.seq = coalesce((SELECT h.seq FROM holding AS h), (SELECT p.seq FROM pending AS p),
                       (SELECT d.seq FROM dead AS d))
