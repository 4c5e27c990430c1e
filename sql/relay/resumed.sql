-- Events whose pause has ended, in seq order.
-- $1 largest, $2 mask, $3 shard: as in read.sql
-- $4 seq: only later events
-- $5 maximum rows to scan
-- $6 event types that the leader knows to be paused
-- $7 aggregate types that the leader knows to be paused
--
-- The statement does not read the pauses themselves: a pause that begins and ends before the leader learns of
-- it would leave events behind. Only the leader's routes determine the destination of an event. So events of
-- a paused destination are also returned, and the leader filters them.
--
-- Head: `looked_to`, the last seq scanned, or null if there are no more. `behind` is as in due.sql. For `seq
-- + 0`, see read.sql.
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
