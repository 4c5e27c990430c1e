-- Writes why events were not published, and what they wait for: $1 ids, $2 seqs and $3 transactions that
-- inserted them, $4 exceptions, $5 attempts and $6 deferrals to add, $7 delays in milliseconds, $8 codes,
-- $9 reasons, $10 scopes. A null code or reason leaves the column as it is, and a null code the scope; a null
-- delay of one that backs off is for ever. Rows that are locked are passed over. Returns the numbers of those
-- that were written, the first is 1.
-- One that somebody has put off since it was read stays put off, unless it is dead.
WITH asked AS MATERIALIZED (
  SELECT k.number, k.attempts, k.deferrals, k.delay, k.code, k.reason, k.scope, k.seq, u.place,
         CASE WHEN u.put_off AND k.exception <> 'dead' THEN u.exception::text ELSE k.exception END
           AS exception,
         u.put_off AND k.exception <> 'dead' AS put_off
  FROM unnest($1::uuid[], $2::bigint[], $3::xid8[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
              $8::text[], $9::text[], $10::text[]) WITH ORDINALITY
    AS k(id, seq, tx, exception, attempts, deferrals, delay, code, reason, scope, number)
  CROSS JOIN LATERAL (
    SELECT e.ctid AS place, e.exception, @is_put_off@ AS put_off FROM @schema@.event AS e
    WHERE @event_key@ AND e.status IN ('pending', 'waiting')
    FOR UPDATE SKIP LOCKED) AS u)
UPDATE @schema@.event AS e
SET status = CASE k.exception WHEN 'dead' THEN 'dead' ELSE 'waiting' END::@schema@.event_status,
    exception = k.exception::@schema@.event_exception,
    attempts = least(e.attempts + k.attempts, 2147483647),
    deferrals = least(e.deferrals + k.deferrals, 32767),
    available_at = CASE WHEN k.exception = 'backing_off' AND NOT k.put_off
      THEN coalesce(clock_timestamp() + k.delay * interval '1 millisecond', 'infinity')
      ELSE e.available_at END,
    last_error = coalesce(k.reason, e.last_error),
    last_error_code = coalesce(k.code, e.last_error_code),
    last_error_scope = CASE WHEN k.code IS NULL THEN e.last_error_scope ELSE k.scope END
FROM asked AS k
WHERE @event_at@
RETURNING k.number
