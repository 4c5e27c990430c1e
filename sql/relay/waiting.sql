-- Events that wait for these destinations: to probe one, or because it works again.
-- $1 largest, $2 mask, $3 shard, $4 destinations, $5 after this seq of each, $6 how many of each. No head.
--
-- The row comparison and the order lead into event_waits alone: a plan made on an empty table would else take
-- the index on seq, and walk the whole table for ever.
WITH found AS MATERIALIZED (
  SELECT w.place, w.seq
  FROM unnest($4::bigint[], $5::bigint[], $6::bigint[]) AS a(destination, after, events)
  CROSS JOIN LATERAL (
    SELECT e.ctid AS place, e.seq
    FROM @schema@.event AS e
    WHERE e.exception = 'backing_off' AND e.waits_for IS NOT NULL
      AND (e.waits_for, e.seq) > (a.destination, a.after) AND e.waits_for <= a.destination AND @in_shard@
    ORDER BY e.waits_for, e.seq
    LIMIT a.events) AS w)
SELECT @event_columns@, @exception_columns@, @event_behind@
FROM @event_open@
  SELECT @event_row@
  FROM found AS k, @schema@.event AS e
  WHERE @event_at@ AND (e.exception = 'backing_off') IS TRUE
@event_close@
