-- A page of the events that wait for destinations, ordered by destination and seq.
-- $1 unused
-- $2 mask, $3 shard: as in read.sql
-- $4 destination, $5 seq: only events after this pair
-- $6 retry.give_up_after in milliseconds; -1: never
-- $7 whether to update events
-- Columns: destination; seq; whether the event belongs to the shard.
--
-- If $7 is true, an event that was recorded with another retry.give_up_after gets the new deadline, unless
-- the row is locked.
WITH page AS MATERIALIZED (
  SELECT e.ctid AS place, e.seq, e.waits_for, @in_shard@ AS wanted
  FROM @schema@.event AS e
  WHERE e.exception = 'backing_off' AND e.waits_for IS NOT NULL AND $1::bigint IS NOT NULL
    AND (e.waits_for, e.seq) > ($4::bigint, $5::bigint)
  ORDER BY e.waits_for, e.seq
  LIMIT 1000),
found AS MATERIALIZED (
  SELECT e.ctid AS place, e.seq, n.available_at
  FROM page AS k, @schema@.event AS e
  CROSS JOIN LATERAL (
    SELECT greatest(now(), CASE WHEN $6::bigint >= 0 AND e.first_failed_at <= now()
                             THEN e.first_failed_at + $6::bigint * interval '1 millisecond'
                             ELSE 'infinity' END) AS available_at) AS n
  WHERE $7::boolean AND @event_at@ AND k.wanted AND (e.exception = 'backing_off') IS TRUE
    AND e.available_at > now() AND e.available_at <> n.available_at
  FOR UPDATE OF e SKIP LOCKED),
changed AS (
  UPDATE @schema@.event AS e SET available_at = k.available_at
  FROM found AS k
  WHERE @event_at@)
SELECT p.waits_for, p.seq, p.wanted FROM page AS p
