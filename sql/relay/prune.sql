-- Retention: of the next rows in seq order, deletes those that were published long ago. Rows that somebody
-- has locked, or holds on to, stay. $1 seq to go on from, $2 age in milliseconds, $3 most rows to look at,
-- $4 seq up to which to go.
-- Returns how many were deleted, how many were looked at, the last seq of them, the last seq of those that
-- are old, whatever their status, and how many come after that; how many are held on to, and why, and whether
-- it has stopped before its end.
WITH walked AS MATERIALIZED (
  SELECT e.ctid AS place, e.seq,
         e.created_at < now() - $2::bigint * interval '1 millisecond' AS old,
         e.status = 'published' AND e.published_at < now() - $2::bigint * interval '1 millisecond' AS done
  FROM @schema@.event AS e
  WHERE e.seq > $1::bigint AND e.seq < $4::bigint
  ORDER BY e.seq
  LIMIT $3::integer),
over AS MATERIALIZED (
  SELECT coalesce(array_agg(k.place ORDER BY k.seq) FILTER (WHERE k.done), '{}') AS places,
         coalesce(array_agg(k.seq ORDER BY k.seq) FILTER (WHERE k.done), '{}') AS seqs
  FROM walked AS k),
gone AS MATERIALIZED (
  SELECT d.pruned, d.kept, d.why, d.reached < cardinality(o.places) AS stopped,
         CASE WHEN d.reached < cardinality(o.places) THEN o.seqs[d.reached] END AS upto
  FROM over AS o
  CROSS JOIN LATERAL @schema@.prune_places(o.places, o.seqs,
                                           now() - $2::bigint * interval '1 millisecond') AS d),
passed AS MATERIALIZED (
  SELECT w.* FROM walked AS w, gone AS g WHERE g.upto IS NULL OR w.seq <= g.upto)
SELECT g.pruned, count(p.seq), max(p.seq), max(p.seq) FILTER (WHERE p.old OR p.done),
       count(p.seq) FILTER (WHERE p.seq > coalesce(
         (SELECT max(o.seq) FROM passed AS o WHERE o.old OR o.done), $1)),
       g.kept, g.why, g.stopped
FROM gone AS g LEFT JOIN passed AS p ON true
GROUP BY g.pruned, g.kept, g.why, g.stopped
