-- The pauses in force.
-- Columns: part; name of the type, or glob; reason; end as text; milliseconds until the end, at most one day.
-- A pause without an end has null in the last two.
SELECT p.part, p.name, p.reason,
       CASE WHEN isfinite(p.until)
         THEN to_char(p.until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"') END,
       CASE WHEN isfinite(p.until)
         THEN (extract(epoch FROM least(p.until - clock_timestamp(), '1 day')) * 1000)::bigint END
FROM @schema@.pause AS p
WHERE p.until IS NULL OR p.until > clock_timestamp()
ORDER BY p.part, p.name
