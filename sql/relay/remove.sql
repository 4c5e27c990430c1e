-- relay.after_publish = delete, in the place of mark.
DELETE FROM @schema@.event AS e
USING unnest($1::uuid[], $2::tid[]) AS k(id, place)
WHERE e.ctid = k.place AND (e.id = k.id) IS TRUE AND e.seq BETWEEN $3 AND $4 AND @few@
  AND e.status IN ('pending', 'waiting')
