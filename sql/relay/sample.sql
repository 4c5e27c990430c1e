-- Counts and ages of events for metrics, in one row.
-- $1 maximum rows to scan of each kind; numbers up to it are exact
--
-- Pending events are above the lowest saved position, or listed there as unsettled. The search above the
-- position also scans events that were published since. The number of pending events beyond $1 rows is
-- estimated as the number of seqs up to the highest one, limited by the number of rows for which the table
-- has room.
--
-- The first pending event in seq order counts as the oldest. If none of the scanned rows is pending, the rows
-- beyond count as being as old as the youngest scanned row. An event's age is measured from available_at, or
-- from created_at if that is later, as in sql/status/events.sql. oldest_waiting_ms and oldest_failing_ms scan
-- $1 / 10 rows. An infinite time has no age.
WITH now AS MATERIALIZED (SELECT clock_timestamp() AS at),
-- One range of seqs for each partition, because there are unused seqs between the rows of two partitions.
ranges AS MATERIALIZED (
  SELECT p.number << 32 AS low, (p.number << 32) + 4294967295 AS high FROM @schema@.event_partition AS p
  WHERE p.number BETWEEN 0 AND 2147483647 AND p.began_at IS NOT NULL
  UNION ALL
  SELECT bigint '-9223372036854775807', bigint '9223372036854775807'
  WHERE NOT EXISTS (SELECT FROM @schema@.event_partition)),
rows_of AS MATERIALIZED (
  SELECT c.oid, c.reltuples FROM pg_class AS c
  JOIN pg_namespace AS n ON n.oid = c.relnamespace
  WHERE n.nspname = @schema_text@ AND c.relkind = 'r' AND (c.relname = 'event' OR EXISTS (
    SELECT FROM pg_inherits AS i JOIN pg_class AS p ON p.oid = i.inhparent
    WHERE i.inhrelid = c.oid AND p.relname = 'event' AND p.relnamespace = n.oid))),
low AS MATERIALIZED (SELECT min(coalesce(s.seq, -9223372036854775808)) AS seq FROM @schema@.shard AS s),
walked AS MATERIALIZED (
  SELECT e.seq, greatest(e.available_at, e.created_at) AS since, e.status = 'pending'
           AND NOT @is_scheduled@ AS pending
  FROM @schema@.event AS e
  WHERE e.seq > (SELECT seq FROM low)
  ORDER BY e.seq
  LIMIT $1::bigint),
above AS MATERIALIZED (
  SELECT count(*) AS rows, count(*) FILTER (WHERE w.pending) AS pending, max(w.seq) AS last,
         coalesce((SELECT f.since FROM walked AS f WHERE f.pending AND isfinite(f.since) LIMIT 1),
                  CASE WHEN count(*) >= $1::bigint
                    THEN max(w.since) FILTER (WHERE isfinite(w.since)) END) AS oldest
  FROM walked AS w),
named AS MATERIALIZED (
  SELECT count(*) AS pending,
         min(greatest(e.available_at, e.created_at))
           FILTER (WHERE isfinite(greatest(e.available_at, e.created_at))) AS oldest
  FROM @schema@.event AS e
  WHERE e.seq = ANY (ARRAY(SELECT u FROM @schema@.shard AS s CROSS JOIN LATERAL unnest(s.unsettled) AS u))
    AND e.status = 'pending' AND NOT @is_scheduled@
    AND e.seq + 0 <= (SELECT seq FROM low)),
waits AS MATERIALIZED (
  SELECT (SELECT count(*) FROM (
            SELECT FROM @schema@.event AS e
            WHERE e.exception IN ('scheduled', 'backing_off') LIMIT $1::bigint) AS x)
         + (SELECT count(*) FROM (
              SELECT FROM @schema@.event AS e
              WHERE e.exception IN ('backing_off', 'parked') AND e.exception >= 'parked'
              LIMIT $1::bigint) AS x) AS events,
         (SELECT count(*) FROM (
            SELECT FROM @schema@.event AS e
            WHERE e.exception IN ('scheduled', 'backing_off') AND e.available_at <= (SELECT at FROM now)
            LIMIT $1::bigint) AS x) AS due,
         (SELECT e.available_at FROM @schema@.event AS e
          WHERE e.exception IN ('scheduled', 'backing_off') AND e.available_at <= (SELECT at FROM now)
            AND isfinite(e.available_at)
          ORDER BY e.available_at LIMIT 1) AS oldest_due,
         (SELECT min(x.created_at) FILTER (WHERE isfinite(x.created_at)) FROM (
            SELECT e.created_at FROM @schema@.event AS e
            WHERE e.exception IN ('backing_off', 'parked') LIMIT $1::bigint / 10) AS x) AS oldest,
         (SELECT min(x.first_failed_at) FROM (
            SELECT e.first_failed_at FROM @schema@.event AS e
            WHERE e.exception = 'backing_off' AND e.waits_for IS NOT NULL
            LIMIT $1::bigint / 10) AS x) AS failing)
SELECT a.pending + m.pending
         + CASE WHEN a.rows < $1::bigint THEN 0
           ELSE (SELECT least(coalesce(sum(greatest(t.seq::numeric - greatest(a.last, r.low - 1), 0)), 0),
                              (SELECT sum(pg_relation_size(c.oid)) / 64 FROM rows_of AS c))::bigint
                 FROM ranges AS r CROSS JOIN LATERAL (
                   SELECT e.seq FROM @schema@.event AS e
                   WHERE e.seq BETWEEN r.low AND r.high ORDER BY e.seq DESC LIMIT 1) AS t)
           END AS pending,
       a.rows >= $1::bigint AS is_estimate,
       w.events AS waiting,
       w.due,
       (SELECT count(*) FROM (
          SELECT FROM @schema@.event AS e WHERE e.exception = 'dead' LIMIT $1::bigint) AS d) AS dead,
       (SELECT sum(greatest(c.reltuples, 0))::bigint FROM rows_of AS c) AS all_rows,
       (extract(epoch FROM greatest(n.at - least(a.oldest, m.oldest, w.oldest_due), '0')) * 1000)::bigint
         AS oldest_due_ms,
       (extract(epoch FROM greatest(n.at - w.oldest, '0')) * 1000)::bigint AS oldest_waiting_ms,
       (extract(epoch FROM greatest(n.at - w.failing, '0')) * 1000)::bigint AS oldest_failing_ms
FROM above AS a CROSS JOIN named AS m CROSS JOIN waits AS w CROSS JOIN now AS n
