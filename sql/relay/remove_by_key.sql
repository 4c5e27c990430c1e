-- relay.after_publish = delete, in the place of mark_by_key.
WITH found AS MATERIALIZED (
  SELECT u.place, k.seq
  FROM unnest($1::uuid[], $2::bigint[], $3::xid8[]) AS k(id, seq, tx)
  CROSS JOIN LATERAL (
    SELECT e.ctid AS place FROM @schema@.event AS e
    WHERE @event_key@ AND e.status IN ('pending', 'waiting')
    FOR UPDATE SKIP LOCKED) AS u)
DELETE FROM @schema@.event AS e
USING found AS k
WHERE @event_at@
