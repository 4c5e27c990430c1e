-- How far there is nothing pending above a seq: a bounded look at rows that are finished, as a rule.
-- $1 unused, $2 mask, $3 shard, $4 seq, $5 aggregates to pass over. Returns the seq up to which nothing is
-- pending, whether the next row is pending, and whether there may be more rows beyond. With ties, for a
-- sequence that was set back gives a seq twice.
WITH walked AS MATERIALIZED (
  SELECT e.seq, @is_pending@ AND @in_shard@ AND @hash@ <> ALL ($5::bigint[]) AS pending
  FROM @schema@.event AS e
  WHERE e.seq > $4 AND $1::bigint IS NOT NULL
  ORDER BY e.seq
  FETCH FIRST 10000 ROWS WITH TIES),
found AS MATERIALIZED (
  SELECT min(w.seq) FILTER (WHERE w.pending) AS first, max(w.seq) AS last, count(*) AS rows FROM walked AS w)
SELECT coalesce(f.first - 1, f.last, $4), f.first IS NOT NULL, f.rows >= 10000 FROM found AS f
