-- Waiting events that are due, in the order of that.
-- $1 largest, $2 mask, $3 shard, $4 and $5 after this available_at and seq, $6 most events
--
-- The first row is the head: in available_at when the next one is due, in created_at the time now. In
-- `behind` of the others: an earlier event of the aggregate waits, too.
WITH now AS MATERIALIZED (SELECT clock_timestamp() AS at)
SELECT NULL::uuid AS id, NULL::tid AS place, NULL::bigint AS seq, NULL::bigint AS hash, NULL::integer AS attempts,
       NULL::smallint AS deferrals, NULL::text AS exception, (SELECT at FROM now) AS created_at,
       (SELECT e.available_at FROM @schema@.event AS e
        WHERE e.exception IN ('scheduled', 'backing_off') AND e.available_at > (SELECT at FROM now)
        ORDER BY e.available_at LIMIT 1) AS available_at,
       NULL::text AS failure, NULL::bigint AS size, NULL::text AS aggregate_type, NULL::text AS aggregate_id,
       NULL::text AS event_type, NULL::@payload_octets@ AS payload, NULL::text AS headers, NULL::text AS exchange,
       NULL::text AS routing_key, NULL::boolean AS behind
UNION ALL
SELECT @event_columns@, @event_behind@
FROM @event_open@
  SELECT e.ctid AS place, e.*
  FROM @schema@.event AS e
  WHERE e.exception IN ('scheduled', 'backing_off') AND e.available_at <= (SELECT at FROM now)
    AND (e.available_at, e.seq) > ($4, $5) AND (e.hash & $2) = $3
  ORDER BY e.available_at, e.seq
  LIMIT $6
@event_close@
