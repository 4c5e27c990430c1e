-- Retention: of the next rows in seq order, deletes those that were published long ago. Rows that somebody
-- has locked stay for now. $1 seq to go on from, $2 age in milliseconds, $3 most rows to look at,
-- $4 seq up to which to go.
-- Returns how many were deleted, how many were looked at, the last seq of them, the last seq of those that
-- are old, whatever their status, and how many come after that.
WITH walked AS MATERIALIZED (
  SELECT e.ctid AS place, e.seq,
         e.created_at < now() - $2::bigint * interval '1 millisecond' AS old,
         e.status = 'published' AND e.published_at < now() - $2::bigint * interval '1 millisecond' AS done
  FROM @schema@.event AS e
  WHERE e.seq > $1::bigint AND e.seq < $4::bigint
  ORDER BY e.seq
  LIMIT $3::integer),
found AS MATERIALIZED (
  SELECT e.ctid AS place, e.seq FROM walked AS k, @schema@.event AS e
  WHERE @event_at@ AND k.done
    AND e.status = 'published' AND e.published_at < now() - $2::bigint * interval '1 millisecond'
  FOR UPDATE OF e SKIP LOCKED),
gone AS (
  DELETE FROM @schema@.event AS e
  USING found AS k
  WHERE @event_at@
  RETURNING 1)
SELECT (SELECT count(*) FROM gone), count(*), max(w.seq), max(w.seq) FILTER (WHERE w.old OR w.done),
       count(*) FILTER (WHERE w.seq > coalesce(
         (SELECT max(o.seq) FROM walked AS o WHERE o.old OR o.done), $1))
FROM walked AS w
