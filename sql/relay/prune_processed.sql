-- Retention: deletes records of processed events, oldest first.
-- $1 time to continue from
-- $2 age in milliseconds
-- $3 maximum rows
-- Columns: rows deleted; time to continue from.
SELECT f.records, f.reached
FROM @schema@.forget_processed(
  $1::timestamptz, now() - $2::bigint * interval '1 millisecond', $3::integer) AS f
