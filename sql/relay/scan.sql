-- Retention: looks through a partition for rows that have to stay.
-- $1 seq: only later rows
-- $2 seq: only earlier rows
-- $3 age in milliseconds; below 0: every row has to stay
-- $4 most rows to look at
-- Columns: rows looked at; their last seq; rows that have to stay; the snapshot.
SELECT count(*), max(w.seq), count(*) FILTER (WHERE NOT w.done), pg_current_snapshot()::text
FROM (
  SELECT e.seq,
         $3::bigint >= 0 AND e.status = 'published'
           AND coalesce(e.published_at < now() - greatest($3, 0) * interval '1 millisecond', false) AS done
  FROM @schema@.event AS e
  WHERE e.seq > $1::bigint AND e.seq < $2::bigint
  ORDER BY e.seq
  FETCH FIRST ($4::integer) ROWS WITH TIES) AS w
