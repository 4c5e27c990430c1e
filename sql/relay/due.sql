-- Waiting events that are due, ordered by available_at and seq.
-- $1 largest, $2 mask, $3 shard: as in read.sql
-- $4 available_at, $5 seq: only events after this pair
-- $6 maximum events; exceeded only if others have the same pair as the last one, because a seq may occur
--    twice after a sequence was set back
--
-- Head: `due_in`, the milliseconds until the next event is due.
-- `behind`: whether an earlier event of the aggregate also waits.
WITH now AS MATERIALIZED (SELECT clock_timestamp() AS at)
SELECT @no_event@, json_build_object('due_in', (
  SELECT @due_in@ FROM @schema@.event AS e
  WHERE e.exception IN ('scheduled', 'backing_off') AND e.available_at > (SELECT at FROM now)
  ORDER BY e.available_at LIMIT 1))::text, @no_exception@
UNION ALL
SELECT @event_columns@, @exception_columns@, @event_behind@
FROM @event_open@
  SELECT @event_row@
  FROM @schema@.event AS e
  WHERE e.exception IN ('scheduled', 'backing_off') AND e.available_at <= (SELECT at FROM now)
    AND (e.available_at, e.seq) > ($4, $5) AND @in_shard@
  ORDER BY e.available_at, e.seq
  FETCH FIRST ($6::bigint) ROWS WITH TIES
@event_close@
