-- Retention: deletes events that were published long enough ago, among the next rows in seq order. Rows that
-- are locked or referenced by others are kept, see prune_places.
-- $1 seq: only later rows
-- $2 age in milliseconds
-- $3 maximum rows to scan
-- $4 seq: only earlier rows
-- Columns: rows deleted; rows scanned; their last seq; the last seq of an old row, whatever its status; rows
-- after that; rows that others lock or reference; why; whether the statement stopped early.
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
