-- The same as by_key, but texts are made only of an event whose numbers are no longer than $1 bytes together
-- as texts. Else it comes withheld, and its size is theirs.
-- $1 largest, $2 mask, $3 shard, $4 ids, $5 seqs, $6 transactions that inserted them, $7 most bytes of texts
-- together
SELECT @fetched_columns@, @exception_columns@, false
FROM (
  SELECT f.*, @comes@ AS comes
  FROM @measured_open@
    @row_of_key@
  @measured_close@
  WINDOW w AS (ROWS UNBOUNDED PRECEDING)) AS f
