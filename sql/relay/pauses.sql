-- The pauses in force.
-- Columns: part; name of the type, or glob; reason; end, in words; milliseconds until the end, at most a
-- day's. A pause without an end has null for both.
SELECT p.part, p.name, p.reason,
       CASE WHEN isfinite(p.until)
         THEN to_char(p.until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"') END,
       CASE WHEN isfinite(p.until)
         THEN (extract(epoch FROM least(p.until - clock_timestamp(), '1 day')) * 1000)::bigint END
FROM @schema@.pause AS p
WHERE p.until IS NULL OR p.until > clock_timestamp()
ORDER BY p.part, p.name
