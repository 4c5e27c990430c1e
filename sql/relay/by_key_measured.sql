-- The same as by_key, but it measures first: an event whose numbers take more than $1 bytes as texts comes
-- withheld, with their sum as its size. Its texts are not made.
-- $1 largest, $2 mask, $3 shard, $4 ids, $5 seqs, $6 transactions that inserted them, $7 most bytes of texts
-- together
SELECT @fetched_columns@, @exception_columns@, @put_off@
FROM (
  SELECT f.*, @comes@ AS comes
  FROM @measured_open@
    @row_of_key@
  @measured_close@
  WINDOW w AS (ROWS UNBOUNDED PRECEDING)) AS f
