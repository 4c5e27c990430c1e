-- Replaces mark.sql if retention.published is 0s: deletes the events. Parameters: as in mark.sql
DELETE FROM @schema@.event AS e
USING unnest($1::uuid[], $2::tid[], $3::bigint[], $4::xid8[]) AS k(id, place, seq, tx)
WHERE e.ctid = k.place AND (e.id = k.id AND e.seq = k.seq AND e.tx = k.tx) IS TRUE
  AND e.seq BETWEEN $5 AND $6 AND @few@ AND e.status IN ('pending', 'waiting')
