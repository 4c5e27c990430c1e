-- Pending events of laggards: the first events of each, in seq order.
-- $1 largest: as in read.sql
-- $2, $3 unused
-- $4 hashes of the aggregates
-- $5 seq for each: only later events
-- $6 range of seqs to search for each
-- $7 maximum events of each
--
-- A head for each aggregate: `hash`; `looked_to`, the seq up to which all its events have been found, or null
-- if there are no further rows. `looked_to` may jump to just before the next row, because a seq without a row
-- costs nothing. WITH TIES, because a seq may occur twice after a sequence was set back.
WITH asked AS MATERIALIZED (
  SELECT a.hash, a.after,
         CASE WHEN a.after > 9223372036854775807 - $6::bigint THEN 9223372036854775807
           ELSE a.after + $6::bigint END AS upto
  FROM unnest($4::bigint[], $5::bigint[]) AS a(hash, after)
  WHERE $2::bigint IS NOT NULL AND $3::bigint IS NOT NULL),
found AS MATERIALIZED (
  SELECT a.hash, p.place, p.seq
  FROM asked AS a
  CROSS JOIN LATERAL (
    SELECT e.ctid AS place, e.seq
    FROM @schema@.event AS e
    WHERE e.seq > a.after AND e.seq <= a.upto AND @is_pending@ AND (@hash@ = a.hash) IS TRUE
    ORDER BY e.seq
    FETCH FIRST ($7::bigint) ROWS WITH TIES) AS p)
SELECT @no_event@, json_build_object(
  'hash', a.hash,
  'looked_to', CASE
    WHEN f.events >= $7::bigint THEN f.last
    ELSE (SELECT e.seq - 1 FROM @schema@.event AS e WHERE e.seq > a.upto ORDER BY e.seq LIMIT 1)
  END)::text, @no_exception@
FROM asked AS a
CROSS JOIN LATERAL (
  SELECT count(*) AS events, max(k.seq) AS last FROM found AS k WHERE k.hash = a.hash) AS f
UNION ALL
SELECT @event_columns@, @exception_columns@, false
FROM @event_open@
  SELECT @event_row@
  FROM found AS k, @schema@.event AS e
  WHERE @event_at@
@event_close@
