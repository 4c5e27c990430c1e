-- Replaces mark_by_key.sql if retention.published is 0s: deletes the events. Parameters and columns: as in
-- mark_by_key.sql
WITH found AS MATERIALIZED (
  SELECT u.place, k.seq, k.number, u.changed
  FROM unnest($1::uuid[], $2::bigint[], $3::xid8[], $4::xid[], $5::bytea[]) WITH ORDINALITY
    AS k(id, seq, tx, written_by, sent, number)
  CROSS JOIN LATERAL (
    SELECT e.ctid AS place, @changed@ AS changed FROM @schema@.event AS e
    WHERE @event_key@ AND e.status IN ('pending', 'waiting', 'dead')
    FOR UPDATE SKIP LOCKED) AS u)
DELETE FROM @schema@.event AS e
USING found AS k
WHERE @event_at@
RETURNING k.number, k.changed
