-- Marks what was published, by place: $1 ids, $2 ctids, $3 and $4 the lowest and the highest seq among them.
-- A row that has moved since it was read is missed.
-- A join and not `= ANY`, which compares each row with the whole list. `IS TRUE` leads into no index: a plan
-- made on an empty table would take the one on id. seq is for a partitioned outbox, see event_at; in two
-- partitions at once a place is told by its id.
UPDATE @schema@.event AS e
SET status = 'published', published_at = clock_timestamp(), exception = NULL
FROM unnest($1::uuid[], $2::tid[]) AS k(id, place)
WHERE e.ctid = k.place AND (e.id = k.id) IS TRUE AND e.seq BETWEEN $3 AND $4 AND @few@
  AND e.status IN ('pending', 'waiting')
