-- Marks events as published, by place.
-- $1 ids
-- $2 ctids
-- $3 seqs
-- $4 transactions that inserted the rows
-- $5, $6 lowest and highest seq among $3
-- A row that has moved since it was read is not marked, nor is another row in its place.
--
-- This is a join, because `= ANY` would compare each row with the whole list. `IS TRUE` prevents the use of
-- the index on id, which a plan made on an empty table would choose. The bounds of seq are for a partitioned
-- outbox, see event_at.
UPDATE @schema@.event AS e
SET status = 'published', published_at = clock_timestamp(), exception = NULL, first_failed_at = NULL
FROM unnest($1::uuid[], $2::tid[], $3::bigint[], $4::xid8[]) AS k(id, place, seq, tx)
WHERE e.ctid = k.place AND (e.id = k.id AND e.seq = k.seq AND e.tx = k.tx) IS TRUE
  AND e.seq BETWEEN $5 AND $6 AND @few@ AND e.status IN ('pending', 'waiting')
