-- Where the last leader of a shard has left off: $1 shard. Null where it is of no use: another server's, or
-- the server has lost transactions that it had seen, or the row was copied here: then the transaction that
-- wrote it is not the one that it names. Then the seqs of unsettled events, a snapshot, the number of shards,
-- whether writers ring, whether what is saved is of no use, and the time.
SELECT CASE WHEN k.known THEN s.seq END, CASE WHEN k.known THEN s.seen::text END, s.unsettled,
       pg_current_snapshot()::text, (SELECT count(*) FROM @schema@.shard),
       s.rings AND EXISTS (
         SELECT FROM pg_attrdef AS d
         JOIN pg_attribute AS a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
         WHERE d.adrelid = format('%I.event', @schema_text@)::regclass AND a.attname = 'tx'
           AND pg_get_expr(d.adbin, d.adrelid) LIKE format('%%(@lock_class@, %s)%%ring()%%', 64 + s.shard)),
       s.seq IS NOT NULL AND k.known IS NOT TRUE,
       clock_timestamp()
FROM @schema@.shard AS s
CROSS JOIN LATERAL (
  SELECT s.system_identifier IS NOT DISTINCT FROM @system_identifier@
         AND pg_snapshot_xmax(s.seen) <= pg_snapshot_xmax(pg_current_snapshot())
         AND s.xmin = s.saved_by::xid AS known) AS k
WHERE s.shard = $1::integer
