-- Parked events of aggregates: the first events of each, in seq order. No events are returned for an
-- aggregate if one of its events backs off.
-- $1 largest: as in read.sql
-- $2, $3 unused
-- $4 hashes of the aggregates
-- $5 maximum events of each
--
-- A head for each aggregate: `hash`; `backs_off`, whether one of its events backs off; `more`, whether it has
-- more than $5 parked events.
--
-- backing_off sorts before parked. `= 'parked'` would also match other indexes: a plan made on an empty table
-- would use the index on seq, and read the whole table each time.
WITH asked AS MATERIALIZED (
  SELECT a.hash,
         (SELECT e.exception FROM @schema@.event AS e
          WHERE e.exception IN ('backing_off', 'parked') AND @hash@ = a.hash
          ORDER BY e.exception LIMIT 1) IS NOT DISTINCT FROM 'backing_off' AS backs_off
  FROM unnest($4::bigint[]) AS a(hash)
  WHERE $2::bigint IS NOT NULL AND $3::bigint IS NOT NULL)
SELECT @no_event@, json_build_object(
  'hash', a.hash, 'backs_off', a.backs_off,
  'more', NOT a.backs_off AND EXISTS (
    SELECT FROM @schema@.event AS e
    WHERE e.exception IN ('backing_off', 'parked') AND @hash@ = a.hash AND e.exception >= 'parked'
    ORDER BY e.exception, e.seq OFFSET $5::bigint LIMIT 1))::text, @no_exception@
FROM asked AS a
UNION ALL
SELECT @event_columns@, @exception_columns@, false
FROM @event_open@
  SELECT p.*
  FROM asked AS a
  CROSS JOIN LATERAL (
    SELECT @event_row@
    FROM @schema@.event AS e
    WHERE e.exception IN ('backing_off', 'parked') AND @hash@ = a.hash AND e.exception >= 'parked'
      AND NOT a.backs_off
    ORDER BY e.exception, e.seq
    LIMIT $5::bigint) AS p
@event_close@
