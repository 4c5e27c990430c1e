-- What is paused: part, name of the type, since when, until when, why and by whom.
SELECT json_build_object('paused', coalesce(json_agg(json_build_object(
  'part', p.part, 'name', nullif(p.name, ''), 'since', p.since,
  'until', CASE WHEN isfinite(p.until)
    THEN to_char(p.until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"') END,
  'reason', p.reason, 'who', p.who) ORDER BY p.part, p.name), '[]'))
FROM @schema@.pause AS p
WHERE p.until IS NULL OR p.until > clock_timestamp()
