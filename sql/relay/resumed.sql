-- Events that wait for the end of a pause, and the pause has ended; in seq order.
-- $1 largest, $2 mask, $3 shard, $4 after this seq, $5 most rows to look at, $6 event types and $7 aggregate
-- types that the leader knows to be paused. It does not look at the pauses themselves: one that comes and
-- goes before the leader knows of it would leave events behind. Whether a destination is paused is for the
-- leader to judge, for only its routes tell where an event goes: what is still paused comes back as well.
--
-- The head: up to which seq it has looked, if there may be more. `behind` as in due. `seq + 0`
-- leads into no index, as in read.
WITH page AS MATERIALIZED (
  SELECT e.ctid AS place, e.seq,
         @in_shard@ AND e.last_error_code = 'paused'
           AND e.event_type <> ALL ($6::text[]) AND e.aggregate_type <> ALL ($7::text[]) AS wanted
  FROM @schema@.event AS e
  WHERE e.exception IN ('scheduled', 'backing_off') AND (e.available_at, e.seq) > ('infinity', $4)
  ORDER BY e.available_at, e.seq
  FETCH FIRST ($5::bigint) ROWS WITH TIES)
SELECT @no_event@, json_build_object('looked_to', (
  SELECT max(p.seq) FROM page AS p HAVING count(*) >= $5::bigint))::text, @no_exception@
UNION ALL
SELECT @event_columns@, @exception_columns@, @event_behind@
FROM @event_open@
  SELECT @event_row@
  FROM page AS k, @schema@.event AS e
  WHERE @event_at@ AND k.wanted
    AND (e.exception = 'backing_off') IS TRUE AND e.last_error_code = 'paused'
  ORDER BY e.seq + 0
@event_close@
