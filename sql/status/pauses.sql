-- The pauses in force: part, name of the type or glob, start, end, reason and operator.
SELECT json_build_object('paused', coalesce(json_agg(json_build_object(
  'part', p.part, 'name', CASE WHEN p.part <> 'everything' THEN p.name END, 'since', p.since,
  'until', CASE WHEN isfinite(p.until)
    THEN to_char(p.until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"') END,
  'reason', p.reason, 'who', p.who) ORDER BY p.part, p.name), '[]'))
FROM @schema@.pause AS p
WHERE p.until IS NULL OR p.until > clock_timestamp()
