-- These events with their texts, if they are not finished, and are still the rows that were read.
-- $1 largest, $2 mask, $3 shard, $4 ids, $5 seqs, $6 transactions that inserted them, $7 most bytes of texts
-- together. The first event may exceed it. Later ones that exceed $7 come withheld.
-- In the last column: somebody has put it off since it was read.
SELECT @fetched_columns@, @exception_columns@, @put_off@
FROM (
  SELECT f.*, @comes@ AS comes
  FROM @event_open@
    @row_of_key@
  @event_close@
  WINDOW w AS (ROWS UNBOUNDED PRECEDING)) AS f
