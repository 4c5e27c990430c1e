-- Parked events of these aggregates, the first of each in seq order, unless one of the aggregate's events
-- backs off.
-- $1 largest, $2 and $3 unused, $4 aggregates, $5 how many of each
--
-- A head for each aggregate: its hash, whether an event of it backs off, and whether there are more than
-- these.
--
-- backing_off is before parked. `= 'parked'` would lead into other indexes, too: a plan made on an empty
-- table would take the one on seq, and walk the whole table for ever.
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
