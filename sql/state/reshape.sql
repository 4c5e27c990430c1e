-- Changes the number of shards of an existing outbox, or its doorbell. Runs after doorbell.sql, which creates
-- the functions that depend on them. Waits for the leads of all shards, but for no writer.
SELECT pg_advisory_xact_lock(@lock_class@, s) FROM generate_series(0, @shards@ - 1) AS s;

-- The table lock cannot be acquired while a writer has an open transaction. Then writers do not check the new
-- shards yet, and the leaders of those shards poll.
DO $bell$
BEGIN
  ALTER TABLE @schema@.event ALTER tx SET DEFAULT @bell@;
EXCEPTION WHEN lock_not_available THEN
  NULL;
END
$bell$;

-- A new shard starts at the lowest seq of the old shards, with a snapshot of only those transactions that all
-- of their leaders have seen. So the new position includes no event that an old leader has not read.
-- PostgreSQL 14 has no min(xid8).
WITH lowest AS (
  SELECT (SELECT pg_snapshot_xmin(t.seen) AS x FROM @schema@.shard AS t ORDER BY x LIMIT 1) AS xmin,
         (SELECT pg_snapshot_xmax(t.seen) AS x FROM @schema@.shard AS t ORDER BY x LIMIT 1) AS xmax)
INSERT INTO @schema@.shard (shard, seq, seen, unsettled, system_identifier, saved_by)
SELECT n, m.seq, m.seen, m.unsettled, m.server, m.saved_by
FROM generate_series(0, @shards@ - 1) AS n
CROSS JOIN (
  SELECT CASE WHEN bool_and(s.seq IS NOT NULL) THEN min(s.seq) END AS seq,
         CASE WHEN bool_and(s.seen IS NOT NULL)
           THEN (SELECT format('%s:%s:%s', l.xmin, l.xmax,
                   coalesce((SELECT string_agg(o.x::text, ',' ORDER BY o.x) FROM (
                     SELECT DISTINCT x
                     FROM @schema@.shard AS u CROSS JOIN LATERAL pg_snapshot_xip(u.seen) AS x
                     WHERE x < l.xmax) AS o), ''))::pg_snapshot
                 FROM lowest AS l) END AS seen,
         (SELECT coalesce(array_agg(i), '{}')
          FROM @schema@.shard AS t CROSS JOIN LATERAL unnest(t.unsettled) AS i) AS unsettled,
         CASE WHEN min(s.system_identifier) = max(s.system_identifier)
           THEN min(s.system_identifier) END AS server,
         CASE WHEN bool_and(s.xmin = s.saved_by::xid) THEN pg_current_xact_id() END AS saved_by
  FROM @schema@.shard AS s) AS m
ON CONFLICT (shard) DO UPDATE
SET seq = excluded.seq, seen = excluded.seen, unsettled = excluded.unsettled,
    system_identifier = excluded.system_identifier, saved_by = excluded.saved_by;
UPDATE @schema@.shard SET rings = @notifies@;
