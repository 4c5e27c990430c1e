-- Marks what was published, by id: $1 ids. A row that somebody has locked is passed over.
UPDATE @schema@.event AS e
SET status = 'published', published_at = clock_timestamp(), exception = NULL
WHERE e.ctid = ANY (ARRAY(
  SELECT u.ctid FROM @schema@.event AS u
  WHERE u.id = ANY ($1) AND u.status IN ('pending', 'waiting')
  FOR UPDATE SKIP LOCKED))
