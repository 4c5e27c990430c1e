-- Loads the position that the last leader of a shard saved.
-- $1 shard
-- Columns: seq and snapshot of the position, null if unusable; seqs of unsettled events; the current
-- snapshot; the number of shards; whether writers notify; whether a position is saved but unusable; the time.
--
-- A position is unusable if another server saved it, if this server has lost transactions that the position
-- includes, or if the row was copied here. In a copy, the transaction that wrote the row is not the one in
-- saved_by.
SELECT CASE WHEN k.known THEN s.seq END, CASE WHEN k.known THEN s.seen::text END, s.unsettled,
       pg_current_snapshot()::text, (SELECT count(*) FROM @schema@.shard),
       s.rings AND EXISTS (
         SELECT FROM pg_attrdef AS d
         JOIN pg_attribute AS a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
         WHERE d.adrelid = format('%I.event', @schema_text@)::regclass AND a.attname = 'tx'
           AND pg_get_expr(d.adbin, d.adrelid)
                 LIKE format('%%(@lock_class@, %s)%%ring()%%', @sleep_key@ + s.shard)),
       s.seq IS NOT NULL AND k.known IS NOT TRUE,
       clock_timestamp()
FROM @schema@.shard AS s
CROSS JOIN LATERAL (
  SELECT s.system_identifier IS NOT DISTINCT FROM @system_identifier@
         AND pg_snapshot_xmax(s.seen) <= pg_snapshot_xmax(pg_current_snapshot())
         AND s.xmin = s.saved_by::xid AS known) AS k
WHERE s.shard = $1::integer
