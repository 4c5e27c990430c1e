-- The number of connections left. Connections of running relays also count as left, because a relay that is
-- about to start would be one of those relays.
-- A relay that leads all shards needs two connections per shard, one for the pruner, and possibly one for
-- samples.
SELECT CASE WHEN l.spare < n.needed THEN 'warning' ELSE 'ok' END,
       CASE WHEN l.spare < n.needed
         THEN format('%s has %s connections left for relays; a relay that leads all shards needs %s', l.whose,
                     l.spare, n.needed)
         ELSE format('%s left; a relay that leads all shards needs %s', l.spare, n.needed) END,
       l.remedy
FROM (VALUES (2 * @shards@ + 1 + @samples@)) AS n (needed)
CROSS JOIN pg_roles AS r
CROSS JOIN pg_database AS d
CROSS JOIN (
  SELECT count(*) AS sessions FROM pg_stat_activity AS a
  WHERE a.datname = current_database() AND a.usename = current_user AND a.application_name LIKE 'outboxd%'
) AS own
CROSS JOIN LATERAL (VALUES
  (1, 'the server',
   own.sessions + current_setting('max_connections')::integer
     - current_setting('superuser_reserved_connections')::integer
     - coalesce(current_setting('reserved_connections', true)::integer, 0)
     - (SELECT sum(s.numbackends) FROM pg_stat_database AS s),
   'ALTER SYSTEM SET max_connections = ...;  -- and restart PostgreSQL'),
  (2, 'user ' || r.rolname,
   own.sessions + CASE WHEN r.rolconnlimit < 0 THEN 2147483647 ELSE r.rolconnlimit END
     - (SELECT count(*) FROM pg_stat_activity AS a WHERE a.usesysid = r.oid),
   format('ALTER ROLE %I CONNECTION LIMIT -1;', r.rolname)),
  (3, 'database ' || d.datname,
   own.sessions + CASE WHEN d.datconnlimit < 0 THEN 2147483647 ELSE d.datconnlimit END
     - pg_stat_get_db_numbackends(d.oid),
   format('ALTER DATABASE %I CONNECTION LIMIT -1;', d.datname))) AS l (rank, whose, spare, remedy)
WHERE r.rolname = current_user AND d.datname = current_database()
ORDER BY l.spare < n.needed DESC, l.rank
LIMIT 1
