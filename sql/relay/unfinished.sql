-- Which of these are left: $1 ids.
SELECT e.id FROM @schema@.event AS e WHERE e.id = ANY ($1) AND e.status IN ('pending', 'waiting')
