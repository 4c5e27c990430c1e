-- Records why events were not published, and for what they wait.
-- $1 ids
-- $2 seqs
-- $3 transactions that inserted the rows
-- $4 exceptions
-- $5 attempts to add
-- $6 delays in milliseconds: from the first failure if the event waits for a destination, otherwise from now;
--    null: the event does not become due by itself
-- $7 codes; null keeps the row's code, and the values that $9 to $12 would set
-- $8 reasons; null keeps the row's reason
-- $9 scopes
-- $10 destinations for which the events wait
-- $11 exchanges of the destinations
-- $12 routing keys of the destinations
-- Column: the number of a written row among the parameters, starting with 1. Locked rows are skipped.
--
-- An event that was postponed after it was read stays postponed, unless it is dead. A parked or paused event
-- is not tried, so the time of its first failure is reset.
WITH asked AS MATERIALIZED (
  SELECT k.number, k.attempts, k.delay, k.code, k.reason, k.scope, k.waits_for, k.exchange, k.routing_key,
         k.seq, u.place,
         CASE WHEN u.put_off AND k.exception <> 'dead' THEN u.exception::text ELSE k.exception END
           AS exception,
         u.put_off AND k.exception <> 'dead' AS put_off, u.since
  FROM unnest($1::uuid[], $2::bigint[], $3::xid8[], $4::text[], $5::bigint[], $6::bigint[], $7::text[],
              $8::text[], $9::text[], $10::bigint[], $11::text[], $12::text[]) WITH ORDINALITY
    AS k(id, seq, tx, exception, attempts, delay, code, reason, scope, waits_for, exchange, routing_key,
         number)
  CROSS JOIN LATERAL (
    SELECT e.ctid AS place, e.exception, @is_put_off@ AS put_off,
           least(e.first_failed_at, clock_timestamp()) AS since
    FROM @schema@.event AS e
    WHERE @event_key@ AND e.status IN ('pending', 'waiting')
    FOR UPDATE SKIP LOCKED) AS u)
UPDATE @schema@.event AS e
SET status = CASE k.exception WHEN 'dead' THEN 'dead' ELSE 'waiting' END::@schema@.event_status,
    exception = k.exception::@schema@.event_exception,
    attempts = least(e.attempts + k.attempts, 2147483647),
    available_at = CASE
      WHEN k.exception <> 'backing_off' OR k.put_off THEN e.available_at
      WHEN k.delay IS NULL THEN 'infinity'
      WHEN k.waits_for IS NULL THEN clock_timestamp() + k.delay * interval '1 millisecond'
      ELSE greatest(k.since + k.delay * interval '1 millisecond',
                    clock_timestamp() + interval '1 second') END,
    first_failed_at = CASE WHEN k.put_off THEN e.first_failed_at
                      WHEN k.attempts > 0 OR k.waits_for IS NOT NULL THEN k.since
                      WHEN k.exception <> 'parked' AND k.code IS DISTINCT FROM 'paused'
                      THEN e.first_failed_at END,
    waits_for = CASE WHEN k.put_off THEN e.waits_for WHEN k.exception <> 'parked' THEN
                  CASE WHEN k.code IS NULL THEN e.waits_for ELSE k.waits_for END END,
    failed_exchange = CASE WHEN k.waits_for IS NULL THEN e.failed_exchange ELSE k.exchange END,
    failed_routing_key = CASE WHEN k.waits_for IS NULL THEN e.failed_routing_key ELSE k.routing_key END,
    last_error = coalesce(k.reason, e.last_error),
    last_error_code = coalesce(k.code, e.last_error_code),
    last_error_scope = CASE WHEN k.code IS NULL THEN e.last_error_scope ELSE k.scope END
FROM asked AS k
WHERE @event_at@
RETURNING k.number
