-- Marks what was published, by place: $1 ids, $2 ctids. A row that has moved since it was read is missed.
-- A join and not `= ANY`, which compares each row with the whole list. `IS TRUE` leads into no index: a plan made on an empty table
-- would take the one on id.
UPDATE @schema@.event AS e
SET status = 'published', published_at = clock_timestamp(), exception = NULL
FROM unnest($1::uuid[], $2::tid[]) AS m(id, place)
WHERE e.ctid = m.place AND (e.id = m.id) IS TRUE AND e.status IN ('pending', 'waiting')
