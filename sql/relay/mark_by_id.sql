-- Marks what was published, by id: $1 ids. A row that somebody has locked is passed over.
WITH found AS MATERIALIZED (
  SELECT e.ctid AS place, e.seq FROM @schema@.event AS e
  WHERE e.id = ANY ($1) AND e.status IN ('pending', 'waiting')
  FOR UPDATE SKIP LOCKED)
UPDATE @schema@.event AS e
SET status = 'published', published_at = clock_timestamp(), exception = NULL
FROM found AS k
WHERE @event_at@
