-- What is paused: part, name of the type or glob, reason, end in words, and milliseconds until then.
SELECT p.part, p.name, p.reason,
       CASE WHEN isfinite(p.until)
         THEN to_char(p.until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"') END,
       CASE WHEN isfinite(p.until)
         THEN (extract(epoch FROM least(p.until - clock_timestamp(), '1 day')) * 1000)::bigint END
FROM @schema@.pause AS p
WHERE p.until IS NULL OR p.until > clock_timestamp()
ORDER BY p.part, p.name
