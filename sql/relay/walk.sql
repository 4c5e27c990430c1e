-- Looks for the first pending row above a seq, in a limited number of rows. Usually all of these are
-- finished.
-- $1 unused
-- $2 mask, $3 shard: as in read.sql
-- $4 seq
-- $5 hashes of the aggregates to skip
-- Columns: the seq up to which no row is pending; whether the next row is pending; whether there may be more
-- rows. WITH TIES, because a seq may occur twice after a sequence was set back.
WITH walked AS MATERIALIZED (
  SELECT e.seq, @is_pending@ AND @in_shard@ AND @hash@ <> ALL ($5::bigint[]) AS pending
  FROM @schema@.event AS e
  WHERE e.seq > $4 AND $1::bigint IS NOT NULL
  ORDER BY e.seq
  FETCH FIRST 10000 ROWS WITH TIES),
found AS MATERIALIZED (
  SELECT min(w.seq) FILTER (WHERE w.pending) AS first, max(w.seq) AS last, count(*) AS rows FROM walked AS w)
SELECT coalesce(f.first - 1, f.last, $4), f.first IS NOT NULL, f.rows >= 10000 FROM found AS f
