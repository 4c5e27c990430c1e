-- Who has locked one of these events: $1 ids, $2 seqs. Columns as in lead_holder. A row that one transaction
-- has locked names it in xmax. What several have locked names none: then it is said to be the oldest
-- transaction that has locked rows of the table at all.
WITH rows AS MATERIALIZED (
  SELECT e.xmax AS locker FROM unnest($1::uuid[], $2::bigint[]) AS k(id, seq), @schema@.event AS e
  WHERE e.id = k.id AND e.seq = k.seq),
holders AS MATERIALIZED (
  SELECT l.pid, 1 AS rank
  FROM pg_locks AS l
  WHERE l.locktype = 'transactionid' AND l.granted AND l.transactionid IN (SELECT r.locker FROM rows AS r)
  UNION ALL
  SELECT l.pid, 2
  FROM pg_locks AS l
  JOIN pg_class AS c ON c.oid = l.relation
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
  WHERE l.locktype = 'relation'
    AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
    AND n.nspname = @schema_text@ AND (c.relname = 'event' OR EXISTS (
      SELECT FROM pg_inherits AS i JOIN pg_class AS p ON p.oid = i.inhparent
      WHERE i.inhrelid = c.oid AND p.relname = 'event' AND p.relnamespace = n.oid))
    AND l.granted AND l.mode = 'RowShareLock')
SELECT 0::bigint, 'row'::text, h.pid, a.usename::text, a.application_name, a.query
FROM holders AS h
LEFT JOIN pg_stat_activity AS a ON a.pid = h.pid
WHERE h.pid IS DISTINCT FROM pg_backend_pid()
ORDER BY h.rank, a.xact_start
LIMIT 1
