-- The given events with their texts. Events that are finished, or whose row was replaced, are left out.
-- $1 largest, $2 mask, $3 shard: as in read.sql
-- $4 ids
-- $5 seqs
-- $6 transactions that inserted the rows
-- $7 maximum bytes of all texts together: later events that would exceed it are returned withheld, but not
--    the first
-- Last column: whether the event was postponed after it was read.
SELECT @fetched_columns@, @exception_columns@, @put_off@
FROM (
  SELECT f.*, @comes@ AS comes
  FROM @event_open@
    @row_of_key@
  @event_close@
  WINDOW w AS (ROWS UNBOUNDED PRECEDING)) AS f
