-- The last actions of operators, newest first, at most 100.
-- $1 id: only older actions; empty: all
SELECT json_build_object('actions', coalesce(json_agg(json_build_object(
  'id', a.id, 'at', a.at, 'who', a.who, 'what', a.what, 'selection', a.selection, 'events', a.events,
  'reason', a.reason) ORDER BY a.id DESC), '[]'))
FROM (
  SELECT u.* FROM @schema@.audit AS u
  WHERE u.id < coalesce(nullif($1, '')::bigint, 9223372036854775807)
  ORDER BY u.id DESC LIMIT 100) AS a
