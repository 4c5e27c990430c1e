-- relay.after_publish = delete, in the place of mark.
DELETE FROM @schema@.event AS e
USING unnest($1::uuid[], $2::tid[]) AS m(id, place)
WHERE e.ctid = m.place AND (e.id = m.id) IS TRUE AND e.status IN ('pending', 'waiting')
