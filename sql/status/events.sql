-- The number of events with each status, how long the oldest have waited, how many were published in the last
-- minute, and where most events wait. No part of this query reads more than 100,001 rows. Numbers beyond that
-- are estimates, and are marked as such.
--
-- Pending events are above the saved position. A few are below, because they were not settled or not visible
-- when the position was saved. A position is unusable if another server saved it, or if it dates from before
-- a restore: see sql/relay/load.sql. Seqs may span all of bigint, so the size of the table limits the
-- estimate.
WITH tables AS MATERIALIZED (
  SELECT format('%I.event', @schema_text@)::regclass::oid AS oid
  UNION ALL
  SELECT i.inhrelid FROM pg_inherits AS i WHERE i.inhparent = format('%I.event', @schema_text@)::regclass),
-- One range of seqs for each partition, because there are unused seqs between the rows of two partitions.
ranges AS MATERIALIZED (
  SELECT p.number << 32 AS low, (p.number << 32) + 4294967295 AS high FROM @schema@.event_partition AS p
  WHERE p.number BETWEEN 0 AND 2147483647 AND p.began_at IS NOT NULL
  UNION ALL
  SELECT bigint '-9223372036854775807', bigint '9223372036854775807'
  WHERE NOT EXISTS (SELECT FROM @schema@.event_partition)),
filled AS MATERIALIZED (
  SELECT r.low, f.seq AS first, l.seq AS last FROM ranges AS r
  CROSS JOIN LATERAL (
    SELECT e.seq FROM @schema@.event AS e
    WHERE e.seq BETWEEN r.low AND r.high ORDER BY e.seq LIMIT 1) AS f
  CROSS JOIN LATERAL (
    SELECT e.seq FROM @schema@.event AS e
    WHERE e.seq BETWEEN r.low AND r.high ORDER BY e.seq DESC LIMIT 1) AS l),
facts AS MATERIALIZED (
  SELECT clock_timestamp() AS now,
         (SELECT CASE WHEN bool_or(c.reltuples < 0 AND pg_relation_size(c.oid) > 0)
                        OR max(c.reltuples) < 0 THEN -1
                   ELSE sum(greatest(c.reltuples, 0)) END
          FROM pg_class AS c WHERE c.relkind = 'r' AND c.oid IN (SELECT t.oid FROM tables AS t)) AS rows,
         (SELECT sum(greatest(c.reltuples, 0)) FROM pg_class AS c
          WHERE c.oid = i.due OR c.oid IN (
            SELECT h.inhrelid FROM pg_inherits AS h WHERE h.inhparent = i.due)) AS due_rows,
         (SELECT sum(greatest(c.reltuples, 0)) FROM pg_class AS c
          WHERE c.oid = i.held OR c.oid IN (
            SELECT h.inhrelid FROM pg_inherits AS h WHERE h.inhparent = i.held)) AS held_rows,
         (SELECT sum(greatest(c.reltuples, 0)) FROM pg_class AS c
          WHERE c.oid = i.dead OR c.oid IN (
            SELECT h.inhrelid FROM pg_inherits AS h WHERE h.inhparent = i.dead)) AS dead_rows,
         room.rows AS most_rows,
         -- Null if any range has no events: least() alone would ignore that null.
         (SELECT least(l.seqs, room.rows)::bigint
          FROM (SELECT sum(f.last::numeric - f.first + 1) AS seqs FROM filled AS f) AS l
          WHERE l.seqs IS NOT NULL) AS seqs
  FROM (SELECT format('%I.event_due', @schema_text@)::regclass AS due,
               format('%I.event_held', @schema_text@)::regclass AS held,
               format('%I.event_dead', @schema_text@)::regclass AS dead) AS i,
       (SELECT sum(pg_relation_size(t.oid)) / 64 AS rows FROM tables AS t) AS room),
position AS MATERIALIZED (
  SELECT CASE WHEN bool_and(k.known) THEN min(s.seq) END AS seq,
         max(s.seq) FILTER (WHERE k.known) AS furthest,
         -- PostgreSQL 14 has no min(xid8).
         (SELECT pg_snapshot_xmax(o.seen) AS x FROM @schema@.shard AS o ORDER BY x LIMIT 1) AS xmax
  FROM @schema@.shard AS s
  CROSS JOIN LATERAL (
    SELECT s.seq IS NOT NULL
           AND s.system_identifier = (SELECT c.system_identifier FROM pg_control_system() AS c)
           AND pg_snapshot_xmax(s.seen) <= pg_snapshot_xmax(pg_current_snapshot())
           AND s.xmin = s.saved_by::xid AS known) AS k),
-- Counts all events, if there are few. Also tries if the estimate is below 200,000, because the number may
-- have fallen to 100,000 since the statistics were collected.
everything AS MATERIALIZED (
  SELECT e.status FROM @schema@.event AS e
  WHERE (SELECT f.rows < 200000 AND f.seqs <= 400000 FROM facts AS f)
  ORDER BY e.seq DESC LIMIT 100001),
ahead AS MATERIALIZED (
  SELECT e.status, greatest(e.available_at, e.created_at) AS since, e.seq FROM @schema@.event AS e
  WHERE e.seq > (SELECT coalesce(p.seq, -9223372036854775808) FROM position AS p)
  ORDER BY e.seq LIMIT 100001),
late AS MATERIALIZED (
  SELECT e.id, e.seq, greatest(e.available_at, e.created_at) AS since FROM @schema@.event AS e
  WHERE e.seq = ANY (ARRAY(SELECT u FROM @schema@.shard AS s CROSS JOIN LATERAL unnest(s.unsettled) AS u))
    AND e.status = 'pending' AND e.seq + 0 <= (SELECT p.seq FROM position AS p)
  UNION
  SELECT e.id, e.seq, greatest(e.available_at, e.created_at) AS since FROM @schema@.event AS e
  WHERE e.tx = ANY (ARRAY(SELECT x FROM @schema@.shard AS s CROSS JOIN LATERAL pg_snapshot_xip(s.seen) AS x))
    AND e.status = 'pending' AND e.seq + 0 <= (SELECT p.seq FROM position AS p)
  UNION
  SELECT t.id, t.seq, t.since
  FROM (SELECT e.id, greatest(e.available_at, e.created_at) AS since, e.status, e.seq FROM @schema@.event AS e
        WHERE e.tx >= (SELECT p.xmax FROM position AS p) ORDER BY e.tx LIMIT 100001) AS t
  WHERE t.status = 'pending' AND t.seq <= (SELECT p.seq FROM position AS p)),
due AS MATERIALIZED (
  SELECT e.exception, e.available_at, e.created_at, e.first_failed_at, e.last_error_code, e.seq,
         CASE WHEN e.waits_for IS NULL THEN e.exchange ELSE e.failed_exchange END AS exchange,
         CASE WHEN e.waits_for IS NULL THEN coalesce(e.routing_key, e.event_type)
           ELSE e.failed_routing_key END AS routing_key
  FROM @schema@.event AS e
  WHERE e.exception IN ('scheduled', 'backing_off') ORDER BY e.available_at LIMIT 100001),
held AS MATERIALIZED (
  SELECT e.exception, e.created_at FROM @schema@.event AS e
  WHERE e.exception IN ('backing_off', 'parked') ORDER BY @hash@ LIMIT 100001),
dead AS MATERIALIZED (
  SELECT e.seq FROM @schema@.event AS e WHERE e.exception = 'dead' ORDER BY e.seq LIMIT 100001),
-- There is no index on published_at. Recently published events are near the position, except replayed ones,
-- which are not counted here.
-- If the scanned rows cover less than a minute, their rate is extrapolated to the whole minute.
recent AS MATERIALIZED (
  (SELECT e.published_at, e.seq FROM @schema@.event AS e
   WHERE e.seq > (SELECT coalesce(p.furthest, 9223372036854775807) FROM position AS p)
   ORDER BY e.seq LIMIT 5000)
  UNION ALL
  (SELECT e.published_at, e.seq FROM @schema@.event AS e
   WHERE e.seq <= (SELECT coalesce(p.furthest, 9223372036854775807) FROM position AS p)
   ORDER BY e.seq DESC LIMIT 10000)),
rate AS MATERIALIZED (
  SELECT count(*) FILTER (WHERE r.recent) AS events, count(*) AS looked,
         bool_or(r.recent) FILTER (WHERE r.place <= 100) AS full_of_them,
         extract(epoch FROM (SELECT f.now FROM facts AS f)
                            - min(r.published_at) FILTER (WHERE r.recent)) AS seconds
  FROM (SELECT q.published_at,
               q.published_at BETWEEN (SELECT f.now - interval '1 minute' FROM facts AS f)
                              AND clock_timestamp() AS recent,
               row_number() OVER (ORDER BY q.seq) AS place FROM recent AS q) AS r),
counted AS MATERIALIZED (
  SELECT (SELECT count(*) FROM everything) BETWEEN 1 AND 100000 OR f.seqs IS NULL AS all_seen,
         (SELECT count(*) FROM ahead) AS ahead_rows,
         (SELECT count(*) FROM ahead AS a WHERE a.status = 'pending')
           + (SELECT count(*) FROM late) AS pending,
         (SELECT count(*) FROM due AS d WHERE d.exception = 'scheduled') AS scheduled,
         (SELECT count(*) FROM due AS d WHERE d.exception = 'backing_off') AS backing_off,
         (SELECT count(*) FROM held AS h WHERE h.exception = 'parked') AS parked,
         (SELECT count(*) FROM due) <= 100000 AS due_seen, (SELECT count(*) FROM held) <= 100000 AS held_seen,
         (SELECT count(*) FROM dead) AS dead
  FROM facts AS f),
estimated AS MATERIALIZED (
  SELECT c.*,
         CASE WHEN c.ahead_rows <= 100000 THEN c.pending
           ELSE c.pending + (
             SELECT least(coalesce(sum(greatest(
                      l.last::numeric - greatest((SELECT max(a.seq) FROM ahead AS a), l.low - 1), 0)), 0),
                      f.most_rows)::bigint
             FROM filled AS l) END AS pending_about,
         CASE WHEN c.due_seen AND c.held_seen THEN c.scheduled + c.backing_off + c.parked
           ELSE greatest(c.scheduled + c.backing_off, f.due_rows::bigint)
                + greatest(c.parked, f.held_rows::bigint - c.backing_off) END AS waiting_about,
         CASE WHEN c.dead <= 100000 THEN c.dead ELSE greatest(c.dead, f.dead_rows::bigint) END AS dead_about,
         CASE WHEN f.rows >= 0 THEN f.rows::bigint ELSE coalesce(f.seqs, 0) END AS all_about
  FROM counted AS c CROSS JOIN facts AS f)
SELECT json_build_object(
  'at', f.now,
  'events', json_build_object(
    'pending', json_build_object(
      'count', CASE WHEN e.all_seen THEN (SELECT count(*) FROM everything AS y WHERE y.status = 'pending')
               ELSE e.pending_about END,
      'exact', e.all_seen OR e.ahead_rows <= 100000),
    'waiting', json_build_object(
      'count', CASE WHEN e.all_seen THEN (SELECT count(*) FROM everything AS y WHERE y.status = 'waiting')
               ELSE e.waiting_about END,
      'exact', e.all_seen OR e.due_seen AND e.held_seen,
      'scheduled', e.scheduled, 'backing_off', e.backing_off, 'parked', e.parked),
    'published', json_build_object(
      'count', CASE WHEN e.all_seen THEN (SELECT count(*) FROM everything AS y WHERE y.status = 'published')
               ELSE greatest(e.all_about - e.pending_about - e.waiting_about - e.dead_about, 0) END,
      'exact', e.all_seen),
    'dead', json_build_object(
      'count', CASE WHEN e.all_seen THEN (SELECT count(*) FROM everything AS y WHERE y.status = 'dead')
               ELSE e.dead_about END,
      'exact', e.all_seen OR e.dead <= 100000)),
  'oldest_due_age_seconds', (
    SELECT round(extract(epoch FROM f.now - min(o.at)), 3) FROM (
      SELECT a.since AS at FROM ahead AS a WHERE a.status = 'pending'
      -- The rows beyond the limit are only known not to be older than this.
      UNION ALL SELECT max(a.since) FROM ahead AS a
        HAVING count(*) > 100000 AND NOT bool_or(a.status = 'pending')
      UNION ALL SELECT l.since FROM late AS l
      UNION ALL SELECT greatest(d.available_at, d.created_at) FROM due AS d) AS o
    WHERE o.at <= f.now AND isfinite(o.at)),
  'oldest_waiting_age_seconds', (
    SELECT round(extract(epoch FROM f.now - min(o.at)), 3) FROM (
      SELECT d.created_at AS at FROM due AS d WHERE d.exception = 'backing_off'
      UNION ALL SELECT h.created_at FROM held AS h) AS o
    WHERE isfinite(o.at)),
  'published_last_minute', (
    SELECT CASE WHEN r.looked >= 10000 AND r.full_of_them AND r.seconds > 0
             THEN json_build_object('count', (r.events * 60 / r.seconds)::bigint, 'exact', false)
             ELSE json_build_object('count', r.events, 'exact', true) END
    FROM rate AS r),
  'waits_by_destination', (
    SELECT coalesce(json_agg(json_build_object(
      'exchange', w.exchange, 'routing_key', w.routing_key, 'code', w.code, 'events', w.events,
      'failing_since', w.failing_since,
      'error', (SELECT left(e.last_error, 300) FROM @schema@.event AS e WHERE e.seq = w.first LIMIT 1))
      ORDER BY w.events DESC, w.routing_key, w.exchange, w.code), '[]')
    FROM (
      SELECT d.exchange, d.routing_key, d.last_error_code AS code, count(*) AS events,
             min(d.first_failed_at) AS failing_since, min(d.seq) AS first
      FROM due AS d WHERE d.exception = 'backing_off'
      GROUP BY 1, 2, 3 ORDER BY 4 DESC, 2, 1, 3 LIMIT 10) AS w),
  -- Counts only the oldest 1,000, because each row has to be read.
  'dead_by_code', (
    SELECT coalesce(json_agg(w), '[]') FROM (
      SELECT o.code, count(*) AS events FROM (
        SELECT e.last_error_code AS code FROM @schema@.event AS e
        WHERE e.exception = 'dead' ORDER BY e.exception, e.seq LIMIT 1000) AS o
      GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10) AS w))
FROM estimated AS e CROSS JOIN facts AS f
