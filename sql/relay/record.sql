-- Writes why events were not published, and what they wait for: $1 ids, $2 exceptions, $3 attempts and $4 deferrals to add, $5 delays
-- in milliseconds, $6 codes, $7 reasons. A null delay, code or reason leaves the column as it is. Rows that are locked are passed
-- over, and returned with false.
WITH asked AS MATERIALIZED (
  SELECT s.*, u.place
  FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[])
    AS s(id, exception, attempts, deferrals, delay, code, reason)
  CROSS JOIN LATERAL (
    SELECT e.ctid AS place FROM @schema@.event AS e
    WHERE e.id = s.id AND e.status IN ('pending', 'waiting')
    FOR UPDATE SKIP LOCKED) AS u)
UPDATE @schema@.event AS e
SET status = CASE a.exception WHEN 'dead' THEN 'dead' ELSE 'waiting' END::@schema@.event_status,
    exception = a.exception::@schema@.event_exception,
    attempts = least(e.attempts + a.attempts, 2147483647),
    deferrals = least(e.deferrals + a.deferrals, 32767),
    available_at = coalesce(clock_timestamp() + a.delay * interval '1 millisecond', e.available_at),
    last_error = coalesce(a.reason, e.last_error),
    last_error_code = coalesce(a.code, e.last_error_code)
FROM asked AS a
WHERE e.ctid = a.place
RETURNING e.id
