-- Retention: partitions that may be dropped if they contain no row to keep, oldest first.
-- $1 milliseconds: only partitions whose successor began at least this long ago
-- Column: number of the partition.
SELECT p.number
FROM @schema@.event_partition AS p
WHERE (SELECT min(n.began_at) FROM @schema@.event_partition AS n
       WHERE n.number > p.number AND n.began_at IS NOT NULL)
        < now() - $1::bigint * interval '1 millisecond'
  AND EXISTS (
    SELECT FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
    JOIN pg_class AS e ON e.oid = i.inhparent JOIN pg_namespace AS n ON n.oid = e.relnamespace
    WHERE n.nspname = @schema_text@ AND e.relname = 'event' AND c.relname = 'event_p' || p.number
      AND NOT i.inhdetachpending)
ORDER BY p.number
