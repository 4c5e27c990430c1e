-- Events, newest first, at most 100. An empty parameter matches any event.
-- $1 status
-- $2 event type
-- $3 aggregate type
-- $4 aggregate id, used with $3
-- $5 created at or after this time (published events: published)
-- $6 created before this time (published events: published)
-- $7 seq: only lower ones
-- $8 error code; `none`: events without a code
--
-- Scans at most 100,000 events. `looked_to` is the last seq scanned, or null if no events are left. Dead and
-- waiting events are few and have indexes of their own; for them, `looked_to` is null. Names are truncated to
-- 300 characters.
WITH below AS MATERIALIZED (
  SELECT coalesce(nullif($7, '')::bigint, 9223372036854775807) AS seq),
found AS MATERIALIZED (
  SELECT l.* FROM (
    (SELECT e.* FROM @schema@.event AS e
     WHERE $1 = 'dead' AND e.exception = 'dead' AND e.seq < (SELECT b.seq FROM below AS b)
     ORDER BY e.exception DESC, e.seq DESC LIMIT 100000)
    UNION ALL
    (SELECT e.* FROM @schema@.event AS e
     WHERE $1 = 'waiting' AND e.exception IN ('scheduled', 'backing_off')
       AND e.seq < (SELECT b.seq FROM below AS b)
     ORDER BY e.available_at, e.seq LIMIT 50000)
    UNION ALL
    (SELECT e.* FROM @schema@.event AS e
     WHERE $1 = 'waiting' AND e.exception = 'parked' AND e.exception IN ('backing_off', 'parked')
       AND e.seq < (SELECT b.seq FROM below AS b)
     ORDER BY @hash@ LIMIT 50000)
    UNION ALL
    (SELECT e.* FROM @schema@.event AS e
     WHERE $1 NOT IN ('dead', 'waiting') AND e.seq < (SELECT b.seq FROM below AS b)
     ORDER BY e.seq DESC LIMIT 100000)) AS l
  WHERE ($1 = '' OR l.status::text = $1) AND ($2 = '' OR l.event_type = $2)
    AND ($3 = '' OR l.aggregate_type = $3 AND l.aggregate_id = $4)
    AND ($5 = '' OR CASE $1 WHEN 'published' THEN l.published_at ELSE l.created_at END
                    >= nullif($5, '')::timestamptz)
    AND ($6 = '' OR CASE $1 WHEN 'published' THEN l.published_at ELSE l.created_at END
                    < nullif($6, '')::timestamptz)
    AND ($8 = '' OR coalesce(l.last_error_code, 'none') = $8)
  ORDER BY l.seq DESC LIMIT 100)
SELECT json_build_object(
  'found', (
    SELECT coalesce(json_agg(json_build_object(
      'id', f.id, 'seq', f.seq, 'status', f.status, 'event_type', left(f.event_type, 300),
      'aggregate_type', left(f.aggregate_type, 300), 'aggregate_id', left(f.aggregate_id, 300),
      'attempts', f.attempts, 'code', f.last_error_code, 'created_at', f.created_at,
      'published_at', f.published_at,
      'available_at', CASE WHEN isfinite(f.available_at) THEN f.available_at END) ORDER BY f.seq DESC), '[]')
    FROM found AS f),
  'looked_to', CASE WHEN $1 NOT IN ('dead', 'waiting') THEN (
    SELECT CASE WHEN count(*) = 100000 THEN min(l.seq) END
    FROM (SELECT e.seq FROM @schema@.event AS e WHERE e.seq < (SELECT b.seq FROM below AS b)
          ORDER BY e.seq DESC LIMIT 100000) AS l) END)
