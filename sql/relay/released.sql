-- Parked events of these aggregates, the first of each in seq order, unless one of the aggregate's events
-- backs off.
-- $1 largest, $2 and $3 unused, $4 aggregates, $5 how many of each
--
-- For each aggregate there is one row without an id: `attempts` says whether an event of it backs off, in
-- `seq` from where on there are more than these.
--
-- backing_off is before parked. `= 'parked'` would lead into other indexes, too: a plan made on an empty
-- table would take the one on seq, and walk the whole table for ever.
WITH asked AS MATERIALIZED (
  SELECT a.hash,
         (SELECT h.exception FROM @schema@.event AS h
          WHERE h.exception IN ('backing_off', 'parked') AND h.hash = a.hash
          ORDER BY h.exception LIMIT 1) IS NOT DISTINCT FROM 'backing_off' AS backs_off
  FROM unnest($4::bigint[]) AS a(hash)
  WHERE $2::bigint IS NOT NULL AND $3::bigint IS NOT NULL)
SELECT NULL::uuid AS id, NULL::tid AS place,
       CASE WHEN NOT a.backs_off THEN (
         SELECT e.seq FROM @schema@.event AS e
         WHERE e.exception IN ('backing_off', 'parked') AND e.hash = a.hash AND e.exception >= 'parked'
         ORDER BY e.exception, e.seq OFFSET $5::bigint LIMIT 1) END AS seq,
       a.hash, a.backs_off::integer AS attempts,
       NULL::smallint AS deferrals, NULL::text AS exception, NULL::timestamptz AS created_at,
       NULL::timestamptz AS available_at, NULL::text AS failure, NULL::bigint AS size, NULL::text AS aggregate_type,
       NULL::text AS aggregate_id, NULL::text AS event_type, NULL::@payload_octets@ AS payload, NULL::text AS headers,
       NULL::text AS exchange, NULL::text AS routing_key
FROM asked AS a
UNION ALL
SELECT @event_columns@
FROM @event_open@
  SELECT p.*
  FROM asked AS a
  CROSS JOIN LATERAL (
    SELECT e.ctid AS place, e.*
    FROM @schema@.event AS e
    WHERE e.exception IN ('backing_off', 'parked') AND e.hash = a.hash AND e.exception >= 'parked' AND NOT a.backs_off
    ORDER BY e.exception, e.seq
    LIMIT $5::bigint) AS p
@event_close@
