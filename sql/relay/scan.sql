-- Retention: looks through a partition for rows that are to stay. $1 seq to go on from, $2 seq up to which,
-- $3 age in milliseconds, below 0: every row stays, $4 most rows to look at.
-- Returns how many were looked at, the last seq of them, how many are to stay, and the snapshot.
SELECT count(*), max(w.seq), count(*) FILTER (WHERE NOT w.done), pg_current_snapshot()::text
FROM (
  SELECT e.seq,
         $3::bigint >= 0 AND e.status = 'published'
           AND coalesce(e.published_at < now() - greatest($3, 0) * interval '1 millisecond', false) AS done
  FROM @schema@.event AS e
  WHERE e.seq > $1::bigint AND e.seq < $2::bigint
  ORDER BY e.seq
  FETCH FIRST ($4::integer) ROWS WITH TIES) AS w
