-- Waiting events that are due, in the order of that.
-- $1 largest, $2 mask, $3 shard, $4 and $5 after this available_at and seq, $6 most events, and
-- those that share place and time with the last: a sequence that was set back gives a seq twice.
--
-- The head: in how many milliseconds the next one is due. In `behind`: an earlier event of the aggregate
-- waits, too.
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
