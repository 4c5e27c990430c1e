-- The names of an event's headers, without values: at most 100, each truncated to 300 characters.
-- $1 id
-- $2 seq
SELECT coalesce(json_agg(left(k.name, 300) ORDER BY k.name), '[]')
FROM (
  SELECT n.name
  FROM @schema@.event AS e
  CROSS JOIN LATERAL jsonb_object_keys(
    CASE WHEN jsonb_typeof(e.headers) = 'object' THEN e.headers ELSE '{}' END) AS n(name)
  WHERE e.id = $1::uuid AND e.seq = $2::bigint
  LIMIT 100) AS k
