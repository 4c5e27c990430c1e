-- Events that wait for destinations: one event as a probe, or all events of a destination that works again.
-- $1 largest, $2 mask, $3 shard: as in read.sql
-- $4 destinations
-- $5 seq for each: only later events
-- $6 maximum events for each
-- There is no head.
--
-- The row comparison and the order fit only the index event_waits. Otherwise, a plan made on an empty table
-- would use the index on seq, and read the whole table each time.
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
