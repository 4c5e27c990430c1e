-- relay.after_publish = delete, in the place of mark_by_key.
WITH found AS MATERIALIZED (
  SELECT e.ctid AS place, e.seq
  FROM unnest($1::uuid[], $2::bigint[], $3::xid8[]) AS k(id, seq, tx), @schema@.event AS e
  WHERE @event_key@ AND e.status IN ('pending', 'waiting')
  FOR UPDATE OF e SKIP LOCKED)
DELETE FROM @schema@.event AS e
USING found AS k
WHERE @event_at@
