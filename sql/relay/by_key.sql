-- The given events with their texts. An event that is finished, or whose row was replaced, is left out.
-- $1 largest, $2 mask, $3 shard: as in read.sql
-- $4 ids
-- $5 seqs
-- $6 transactions that inserted the rows
-- $7 most bytes of texts together: later events that would exceed it come withheld, the first event does not
-- Last column: whether somebody has postponed the event since it was read.
SELECT @fetched_columns@, @exception_columns@, @put_off@
FROM (
  SELECT f.*, @comes@ AS comes
  FROM @event_open@
    @row_of_key@
  @event_close@
  WINDOW w AS (ROWS UNBOUNDED PRECEDING)) AS f
