-- Whether the partitions of the outbox are contiguous and complete. No row is returned if the outbox is not
-- partitioned.
WITH attached AS (
  SELECT p.number, p.began_at FROM @schema@.event_partition AS p
  WHERE EXISTS (
    SELECT FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
    WHERE i.inhparent = format('%I.event', @schema_text@)::regclass AND c.relname = 'event_p' || p.number)),
oldest AS (
  SELECT a.number, a.began_at, least(a.number + 1, 2147483647) << 32 AS behind
  FROM attached AS a WHERE a.began_at IS NOT NULL ORDER BY a.number LIMIT 1),
state AS (
  SELECT p.period, o.*,
         (SELECT count(*) FROM attached AS a WHERE a.began_at IS NOT NULL) AS used,
         (SELECT count(*) FROM attached AS a WHERE a.began_at IS NULL) AS ready,
         (SELECT 'event_p' || min(d.number) FROM @schema@.event_partition AS d
          WHERE NOT EXISTS (SELECT FROM attached AS a WHERE a.number = d.number)) AS detached
  FROM @schema@.partitioning AS p LEFT JOIN oldest AS o ON true)
SELECT CASE WHEN s.detached IS NOT NULL OR s.ready = 0 THEN 'warning' ELSE 'ok' END,
       CASE WHEN s.detached IS NOT NULL
         THEN format('the partition %s was detached by hand: relays leave it alone, and do not see its '
                     'events', s.detached)
         WHEN s.ready = 0 THEN 'no partition is ready after the current one'
         WHEN s.number IS NULL THEN format('%s, none in use yet', s.period)
         ELSE format('%s, %s in use; the oldest, event_p%s, began %s: %s', s.period, s.used, s.number,
                     to_char(s.began_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'),
                     CASE WHEN s.used = 1 THEN 'it is the only one' ELSE 'it stays ' || CASE
                       WHEN EXISTS (SELECT FROM @schema@.event AS e
                                    WHERE e.exception = 'dead' AND e.seq < s.behind)
                         THEN 'for its dead events'
                       WHEN EXISTS (SELECT FROM @schema@.event AS e
                                    WHERE e.exception IN ('scheduled', 'backing_off') AND e.seq < s.behind)
                         OR EXISTS (SELECT FROM @schema@.event AS e
                                    WHERE e.exception IN ('backing_off', 'parked') AND e.seq < s.behind)
                         THEN 'for events that wait'
                       ELSE 'until retention.published has passed' END END) END,
       CASE WHEN s.detached IS NOT NULL
         THEN format('DROP TABLE %I.%I;  -- when nothing in it is needed', @schema_text@, s.detached)
         ELSE 'start a relay: the leader creates two' END
FROM state AS s
