-- Retention: deletes records of processed events, the oldest first. $1 time to go on from, $2 age in
-- milliseconds, $3 most rows. Returns how many, and the time to go on from.
SELECT f.records, f.reached
FROM @schema@.forget_processed(
  $1::timestamptz, now() - $2::bigint * interval '1 millisecond', $3::integer) AS f
