-- Marks what was published, by key: $1 ids, $2 seqs, $3 transactions that inserted the rows. A row that
-- somebody has locked is passed over, and so is one that has taken the place of another: it was never sent.
WITH found AS MATERIALIZED (
  SELECT u.place, k.seq
  FROM unnest($1::uuid[], $2::bigint[], $3::xid8[]) AS k(id, seq, tx)
  CROSS JOIN LATERAL (
    SELECT e.ctid AS place FROM @schema@.event AS e
    WHERE @event_key@ AND e.status IN ('pending', 'waiting')
    FOR UPDATE SKIP LOCKED) AS u)
UPDATE @schema@.event AS e
SET status = 'published', published_at = clock_timestamp(), exception = NULL
FROM found AS k
WHERE @event_at@
