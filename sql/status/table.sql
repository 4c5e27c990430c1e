-- The total size of the table and its indexes, over all partitions, and the dead rows according to the
-- statistics. Also the partitions, if any. The oldest partition is kept while it contains a waiting or dead
-- event; its `next` is when the next partition began.
WITH tables AS MATERIALIZED (
  SELECT format('%I.event', @schema_text@)::regclass::oid AS oid
  UNION ALL
  SELECT i.inhrelid FROM pg_inherits AS i WHERE i.inhparent = format('%I.event', @schema_text@)::regclass),
attached AS MATERIALIZED (
  SELECT p.number, p.began_at, c.oid FROM @schema@.event_partition AS p
  JOIN pg_class AS c ON c.relname = 'event_p' || p.number AND c.oid IN (SELECT t.oid FROM tables AS t)
  WHERE p.began_at IS NOT NULL),
oldest AS MATERIALIZED (SELECT a.* FROM attached AS a ORDER BY a.number LIMIT 1)
SELECT json_build_object('table', (
  SELECT json_build_object(
    'table_bytes', sum(pg_table_size(c.oid)), 'index_bytes', sum(pg_indexes_size(c.oid)),
    'indexes', (
      SELECT json_object_agg(x.name, x.bytes ORDER BY x.name) FROM (
        SELECT regexp_replace(i.relname, '^event_p[0-9]+_', 'event_') AS name,
               sum(pg_relation_size(i.oid)) AS bytes
        FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid
        WHERE x.indrelid IN (SELECT t.oid FROM tables AS t) GROUP BY 1) AS x),
    'live_rows', sum(t.n_live_tup), 'dead_rows', sum(t.n_dead_tup), 'last_autovacuum', max(t.last_autovacuum),
    'last_vacuum', max(t.last_vacuum))
  FROM pg_class AS c LEFT JOIN pg_stat_user_tables AS t ON t.relid = c.oid
  WHERE c.oid IN (SELECT o.oid FROM tables AS o)),
'partitions', (
  SELECT json_build_object('period', p.period, 'count', (SELECT count(*) FROM attached),
    'oldest', (
      SELECT json_build_object('name', 'event_p' || o.number, 'began_at', o.began_at,
        'next', (SELECT min(n.began_at) FROM attached AS n WHERE n.number > o.number),
        'waiting', EXISTS (
            SELECT FROM @schema@.event AS e
            WHERE e.exception IN ('scheduled', 'backing_off')
              AND e.seq < least(o.number + 1, 2147483647) << 32)
          OR EXISTS (
            SELECT FROM @schema@.event AS e
            WHERE e.exception IN ('backing_off', 'parked')
              AND e.seq < least(o.number + 1, 2147483647) << 32),
        'dead', EXISTS (
          SELECT FROM @schema@.event AS e
          WHERE e.exception = 'dead' AND e.seq < least(o.number + 1, 2147483647) << 32))
      FROM oldest AS o))
  FROM @schema@.partitioning AS p))
