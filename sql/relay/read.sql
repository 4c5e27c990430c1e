-- What has become visible since a position, in one statement and so in one snapshot. See docs/design.md, "The
-- position".
-- $1 largest, $2 mask, $3 shard: as in every statement that returns events, see event_columns
-- $4 position.seq  $5 xid8[] that were in progress in the position's snapshot  $6 its xmax  $7 xmax up to
-- which (c) looks
-- $8 seq up to which (a) looks  $9 most events  $10 whether with the summary
-- As long as (c) does not see up to now, (a) brings nothing: it could bring an event before an earlier one of
-- its aggregate.
--
-- The first row is the head: in seq the highest visible seq above $4, in hash the lowest seq of (b) and (c),
-- in size their number, in event_type the snapshot. If their number is above $9 there are no other rows. The
-- summary tells in available_at when a waiting event is due, with the time now in created_at, and in attempts
-- whether some aggregate holds back events.
--
-- `seq + 0` leads into no index: a plan made on an empty table would take the one on seq, and walk the whole
-- table for ever.
WITH now AS MATERIALIZED (SELECT pg_current_snapshot() AS snapshot),
late AS MATERIALIZED (
  SELECT e.ctid AS place, e.seq                                                     -- (b)
  FROM @schema@.event AS e
  WHERE e.tx = ANY (ARRAY(SELECT x FROM unnest($5::xid8[]) AS x WHERE pg_visible_in_snapshot(x, (SELECT snapshot FROM now))))
    AND e.seq + 0 <= $4 AND e.status = 'pending' AND (e.hash & $2) = $3
  UNION ALL
  SELECT e.ctid, e.seq                                                              -- (c)
  FROM @schema@.event AS e
  WHERE e.tx >= $6 AND e.tx < (SELECT least(pg_snapshot_xmax(snapshot), $7) FROM now)
    AND e.seq + 0 <= $4 AND e.status = 'pending' AND (e.hash & $2) = $3),
counted AS MATERIALIZED (SELECT count(*) AS all_late, min(seq) AS low FROM late)
SELECT NULL::uuid AS id, NULL::tid AS place,
       (SELECT e.seq FROM @schema@.event AS e WHERE e.seq > $4 ORDER BY e.seq DESC LIMIT 1) AS seq,
       c.low AS hash, CASE WHEN $10::boolean THEN EXISTS (
         SELECT FROM @schema@.event AS e WHERE e.exception IN ('backing_off', 'parked'))::integer END AS attempts,
       NULL::smallint AS deferrals, NULL::text AS exception,
       CASE WHEN $10::boolean THEN clock_timestamp() END AS created_at,
       CASE WHEN $10::boolean THEN (
         SELECT e.available_at FROM @schema@.event AS e
         WHERE e.exception IN ('scheduled', 'backing_off') ORDER BY e.available_at LIMIT 1) END AS available_at,
       NULL::text AS failure,
       c.all_late AS size, NULL::text AS aggregate_type, NULL::text AS aggregate_id,
       (SELECT snapshot::text FROM now) AS event_type, NULL::@payload_octets@ AS payload, NULL::text AS headers,
       NULL::text AS exchange, NULL::text AS routing_key
FROM counted AS c
UNION ALL
SELECT @event_columns@
FROM @event_open@
  SELECT e.ctid AS place, e.*
  FROM late AS k, @schema@.event AS e
  WHERE @event_at@ AND (SELECT all_late FROM counted) <= $9::bigint
  UNION ALL
  (SELECT e.ctid, e.*                                                               -- (a)
   FROM @schema@.event AS e
   WHERE e.seq > $4 AND e.seq <= $8 AND e.status = 'pending' AND (e.hash & $2) = $3
   ORDER BY e.seq
   FETCH FIRST (CASE WHEN (SELECT pg_snapshot_xmax(snapshot) <= $7 FROM now)
                THEN greatest($9::bigint - (SELECT all_late FROM counted), 0) ELSE 0 END) ROWS WITH TIES)
@event_close@
