-- Writes why events were not published, and what they wait for: $1 ids, $2 exceptions, $3 attempts and $4
-- deferrals to add, $5 delays in milliseconds, $6 codes, $7 reasons. A null code or reason leaves the column
-- as it is; a null delay of one that backs off is for ever. Rows that are locked are passed over. Returns the
-- ids of those that were written.
WITH asked AS MATERIALIZED (
  SELECT s.*, u.place, u.seq
  FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[])
    AS s(id, exception, attempts, deferrals, delay, code, reason)
  CROSS JOIN LATERAL (
    SELECT e.ctid AS place, e.seq FROM @schema@.event AS e
    WHERE e.id = s.id AND e.status IN ('pending', 'waiting')
    FOR UPDATE SKIP LOCKED) AS u)
UPDATE @schema@.event AS e
SET status = CASE k.exception WHEN 'dead' THEN 'dead' ELSE 'waiting' END::@schema@.event_status,
    exception = k.exception::@schema@.event_exception,
    attempts = least(e.attempts + k.attempts, 2147483647),
    deferrals = least(e.deferrals + k.deferrals, 32767),
    available_at = CASE k.exception
      WHEN 'backing_off' THEN coalesce(clock_timestamp() + k.delay * interval '1 millisecond', 'infinity')
      ELSE e.available_at END,
    last_error = coalesce(k.reason, e.last_error),
    last_error_code = coalesce(k.code, e.last_error_code)
FROM asked AS k
WHERE @event_at@
RETURNING e.id
