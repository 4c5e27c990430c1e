-- Sessions that prevent relays from marking events, because they have locked the rows for a second. The query
-- checks the first thousand pending events after the positions of the shards, those listed as unsettled with
-- the positions, and the first thousand that are due. If one transaction has locked a row, the row's xmax
-- names it. If several have locked it, xmax names none of them: then each session that has locked any rows of
-- the table is returned. Columns as in sql/relay/lock_holders.sql. If another session has locked the table,
-- this query waits.
WITH places AS MATERIALIZED (
  SELECT coalesce(min(s.seq), -9223372036854775808) AS seq FROM @schema@.shard AS s),
rows AS MATERIALIZED (
  (SELECT e.xmax FROM @schema@.event AS e
   WHERE e.seq > (SELECT p.seq FROM places AS p) AND e.status = 'pending' ORDER BY e.seq LIMIT 1000)
  UNION ALL
  SELECT e.xmax FROM @schema@.shard AS s CROSS JOIN unnest(s.unsettled) AS u (seq)
  JOIN @schema@.event AS e ON e.seq = u.seq
  UNION ALL
  (SELECT e.xmax FROM @schema@.event AS e
   WHERE e.exception IN ('scheduled', 'backing_off') AND e.available_at <= clock_timestamp()
   ORDER BY e.available_at LIMIT 1000)),
lockers AS MATERIALIZED (
  SELECT l.pid, l.transactionid FROM pg_locks AS l WHERE l.locktype = 'transactionid' AND l.granted),
relays AS MATERIALIZED (
  SELECT l.pid FROM pg_locks AS l
  WHERE l.locktype = 'advisory' AND l.classid = @lock_class@::oid AND l.objid = @relay_key@ AND l.objsubid = 2
    AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())),
holders AS (
  SELECT l.pid FROM lockers AS l WHERE l.transactionid IN (SELECT r.xmax FROM rows AS r)
  UNION
  SELECT l.pid
  FROM pg_locks AS l
  WHERE l.locktype = 'relation' AND l.granted AND l.mode = 'RowShareLock'
    AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
    AND l.relation IN (
      SELECT to_regclass(format('%I.event', @schema_text@))::oid UNION ALL
      SELECT i.inhrelid FROM pg_inherits AS i
      WHERE i.inhparent = to_regclass(format('%I.event', @schema_text@)))
    AND EXISTS (SELECT FROM rows AS r
                WHERE r.xmax <> '0' AND r.xmax NOT IN (SELECT k.transactionid FROM lockers AS k)))
SELECT 'writing' AS keeps_from, NULL::integer AS shard, 'row locks' AS mode, h.pid, true AS granted,
       a.usename::text AS user_name, a.application_name, NULL::text AS waits_for, a.query
FROM holders AS h
LEFT JOIN pg_stat_activity AS a ON a.pid = h.pid
WHERE h.pid IS DISTINCT FROM pg_backend_pid() AND NOT EXISTS (SELECT FROM relays AS r WHERE r.pid = h.pid)
  AND (a.xact_start < clock_timestamp() - interval '1 second') IS NOT FALSE
ORDER BY a.xact_start
LIMIT 20
