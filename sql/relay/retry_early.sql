-- After a destination works again: what waits because of one becomes due. A page, by when it would have been
-- due.
-- $1 unused, $2 mask, $3 shard, $4 and $5 after this available_at and seq. Returns where the page ends, if
-- there may be another one.
-- Nobody waits because of a destination for longer than a minute; locked rows wait for their own time.
WITH page AS MATERIALIZED (
  SELECT e.ctid AS place, e.available_at, e.seq,
         @in_shard@
           AND e.last_error_code IN (
             'not_sent', 'destination_down', 'login_refused', 'nacked', 'unconfirmed') AS wanted
  FROM @schema@.event AS e
  WHERE e.exception IN ('scheduled', 'backing_off') AND $1::bigint IS NOT NULL
    AND (e.available_at, e.seq) > (greatest($4, now()), $5) AND e.available_at <= now() + interval '1 minute'
  ORDER BY e.available_at, e.seq
  LIMIT 1000),
found AS MATERIALIZED (
  SELECT e.ctid AS place, e.seq FROM page AS k, @schema@.event AS e
  WHERE @event_at@ AND k.wanted AND (e.exception = 'backing_off') IS TRUE
  FOR UPDATE OF e SKIP LOCKED),
retried AS (
  UPDATE @schema@.event AS e SET available_at = now()
  FROM found AS k
  WHERE @event_at@)
SELECT p.available_at, p.seq FROM page AS p OFFSET 999
