-- relay.after_publish = delete, in the place of mark_by_id.
WITH found AS MATERIALIZED (
  SELECT e.ctid AS place, e.seq FROM @schema@.event AS e
  WHERE e.id = ANY ($1) AND e.status IN ('pending', 'waiting')
  FOR UPDATE SKIP LOCKED)
DELETE FROM @schema@.event AS e
USING found AS k
WHERE @event_at@
