-- Retention: scans a partition for rows to keep.
-- $1 seq: only later rows
-- $2 seq: only earlier rows
-- $3 age in milliseconds; negative: every row is kept
-- $4 maximum rows to scan
-- Columns: rows scanned; their last seq; rows to keep; the snapshot.
SELECT count(*), max(w.seq), count(*) FILTER (WHERE NOT w.done), pg_current_snapshot()::text
FROM (
  SELECT e.seq,
         $3::bigint >= 0 AND e.status = 'published'
           AND coalesce(e.published_at < now() - greatest($3, 0) * interval '1 millisecond', false) AS done
  FROM @schema@.event AS e
  WHERE e.seq > $1::bigint AND e.seq < $2::bigint
  ORDER BY e.seq
  FETCH FIRST ($4::integer) ROWS WITH TIES) AS w
