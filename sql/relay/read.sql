-- Events that have become visible since a position, in one statement and so in one snapshot. For the areas
-- (a), (b) and (c) see docs/design.md, "The position".
-- $1 largest: maximum bytes of an event's texts; a larger event is returned withheld, see event_columns
-- $2 mask: number of shards - 1
-- $3 shard
-- $4 seq of the position
-- $5 transactions (xid8[]) in progress in the position's snapshot
-- $6 xmax of the position's snapshot
-- $7 xid up to which (c) searches without counting rows
-- $8 seq up to which (a) searches
-- $9 maximum events
-- $10 whether to return the summary
-- $11 hashes of the aggregates that (a) skips: the laggards, see laggards.sql
--
-- Usually there are no transactions after $7. If there are, (c) stops after 20,000 rows, which the index on
-- tx finds. So transactions without a row cost nothing, however many there are. If (c) stops early, (a)
-- returns nothing, because it might return an event before an earlier one of its aggregate.
--
-- Head: `snapshot`, the current one; `upto`, the xid up to which (c) has searched; `top`, the highest visible
-- seq above $4; `late`, the number of rows in (b) and (c); `lowest_late`, their lowest seq. If `late` exceeds
-- $9, no events are returned.
-- Summary, in the head: `now` in microseconds; `queue`, the usage of the notification queue (0 to 1);
-- `holds`, whether any aggregate blocks events; `due_in`, the milliseconds until a waiting event is due.
--
-- `seq + 0` prevents the use of the index on seq. A plan made on an empty table would use that index, and
-- read the whole table each time.
WITH looked AS MATERIALIZED (
  SELECT CASE
    WHEN pg_snapshot_xmax(pg_current_snapshot()) <= $7 THEN pg_snapshot_xmax(pg_current_snapshot())
    ELSE coalesce(
      (SELECT ((e.tx::text)::numeric + 1)::text::xid8
       FROM @schema@.event AS e
       WHERE e.tx >= $6 AND e.tx < pg_snapshot_xmax(pg_current_snapshot())
       ORDER BY e.tx OFFSET 19999 LIMIT 1),
      pg_snapshot_xmax(pg_current_snapshot())) END AS upto),
late AS MATERIALIZED (
  SELECT e.ctid AS place, e.seq                                                     -- (b)
  FROM @schema@.event AS e
  WHERE e.tx = ANY (ARRAY(SELECT x FROM unnest($5::xid8[]) AS x
                          WHERE pg_visible_in_snapshot(x, (SELECT pg_current_snapshot()))))
    AND e.seq + 0 <= $4 AND @is_pending@ AND @in_shard@
  UNION ALL
  SELECT e.ctid, e.seq                                                              -- (c)
  FROM @schema@.event AS e
  WHERE e.tx >= $6 AND e.tx < (SELECT upto FROM looked)
    AND e.seq + 0 <= $4 AND @is_pending@ AND @in_shard@),
counted AS MATERIALIZED (SELECT count(*) AS all_late, min(seq) AS low FROM late)
SELECT @no_event@, json_build_object(
  'snapshot', pg_current_snapshot()::text, 'upto', (SELECT upto FROM looked)::text,
  'top', (SELECT e.seq FROM @schema@.event AS e WHERE e.seq > $4 ORDER BY e.seq DESC LIMIT 1),
  'late', c.all_late, 'lowest_late', c.low,
  'now', CASE WHEN $10::boolean THEN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint END,
  'queue', CASE WHEN $10::boolean THEN @queue_usage@ END,
  'holds', CASE WHEN $10::boolean THEN EXISTS (
    SELECT FROM @schema@.event AS e WHERE e.exception IN ('backing_off', 'parked')) END,
  'due_in', CASE WHEN $10::boolean THEN (
    SELECT @due_in@ FROM @schema@.event AS e
    WHERE e.exception IN ('scheduled', 'backing_off') ORDER BY e.available_at LIMIT 1) END)::text
FROM counted AS c
UNION ALL
SELECT @event_columns@
FROM @event_open@
  SELECT @event_row@
  FROM late AS k, @schema@.event AS e
  WHERE @event_at@ AND (SELECT all_late FROM counted) <= $9::bigint
  UNION ALL
  (SELECT @event_row@                                                               -- (a)
   FROM @schema@.event AS e
   WHERE e.seq > $4 AND e.seq <= $8 AND @is_pending@ AND @in_shard@
     AND @hash@ <> ALL ($11::bigint[])
   ORDER BY e.seq
   FETCH FIRST (CASE WHEN pg_snapshot_xmax(pg_current_snapshot()) <= (SELECT upto FROM looked)
                THEN greatest($9::bigint - (SELECT all_late FROM counted), 0) ELSE 0 END) ROWS WITH TIES)
@event_close@
