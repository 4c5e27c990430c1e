-- relay.after_publish = delete, in the place of mark_by_id.
DELETE FROM @schema@.event AS e
WHERE e.ctid = ANY (ARRAY(
  SELECT u.ctid FROM @schema@.event AS u
  WHERE u.id = ANY ($1) AND u.status IN ('pending', 'waiting')
  FOR UPDATE SKIP LOCKED))
