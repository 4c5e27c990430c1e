-- Finds the rows that have not changed since they were read.
-- $1 ids
-- $2 ctids
-- $3 seqs
-- $4 transactions that inserted the rows
-- $5 transactions that last wrote the rows
-- Column: the row's number among the parameters, starting with 1.
-- The ctid alone is not enough: after two updates, a row may be back in its old place.
SELECT k.number
FROM unnest($1::uuid[], $2::tid[], $3::bigint[], $4::xid8[], $5::xid[]) WITH ORDINALITY
  AS k(id, place, seq, tx, written_by, number), @schema@.event AS e
WHERE @event_at@ AND (e.id = k.id AND e.tx = k.tx AND e.xmin = k.written_by) IS TRUE
  AND (e.status IN ('pending', 'waiting')) IS TRUE
