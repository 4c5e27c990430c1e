-- The shards and the relays.
--
-- For a shard: its leader, its doorbell, and `unwritten`: the number of events (at most 100) whose outcome
-- PostgreSQL had not written when the position was saved. Relays are distinguished by their names and
-- addresses. A session of a relay holds the lock RELAY, and its user may save positions. Each relay that
-- could lead holds PRESENT once.
-- Values that pg_stat_activity hides from this user are null, and `hidden` is true then.
WITH locks AS MATERIALIZED (
  SELECT l.pid, l.objid::bigint AS key, l.mode
  FROM pg_locks AS l
  WHERE l.locktype = 'advisory' AND l.classid = @lock_class@::oid AND l.objsubid = 2 AND l.granted
    AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())),
sessions AS MATERIALIZED (
  SELECT a.pid, a.application_name AS name, host(a.client_addr) AS address, a.backend_start,
         a.backend_start IS NULL AS hidden
  FROM locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
  WHERE l.key = @relay_key@
    AND coalesce(has_table_privilege(a.usesysid, format('%I.shard', @schema_text@), 'UPDATE'), false))
SELECT json_build_object(
  'shards', (
    SELECT json_agg(json_build_object(
      'shard', s.shard, 'leader', lead.name, 'leader_pid', lead.pid, 'leader_address', lead.address,
      'doorbell', CASE WHEN lead.pid IS NULL THEN 'unled' WHEN NOT s.rings THEN 'off' WHEN EXISTS (
          SELECT FROM locks AS l JOIN sessions AS h ON h.pid = l.pid
          WHERE l.key = @sleep_key@ + s.shard AND l.mode = 'ExclusiveLock') THEN 'asleep' ELSE 'awake' END,
      'position', s.seq, 'unwritten', cardinality(s.unsettled)) ORDER BY s.shard)
    FROM @schema@.shard AS s
    LEFT JOIN LATERAL (
      SELECT h.* FROM locks AS l JOIN sessions AS h ON h.pid = l.pid
      WHERE l.key = s.shard AND l.mode = 'ExclusiveLock' LIMIT 1) AS lead ON true),
  'relays', (
    SELECT coalesce(json_agg(json_build_object(
      'name', r.name, 'version', substring(r.name FROM '^outboxd (\S+) on '),
      'host', substring(r.name FROM '^outboxd \S+ on (.*)$'),
      'address', r.address, 'hidden', r.hidden, 'since', r.since, 'pids', r.pids, 'leads', r.leads,
      'ready_to_lead', r.present, 'standby', r.leads = '{}') ORDER BY r.name, r.address), '[]')
    FROM (
      SELECT h.name, h.address, bool_or(h.hidden) AS hidden, min(h.backend_start) AS since,
             array_agg(h.pid ORDER BY h.pid) AS pids,
             ARRAY(SELECT l.key FROM locks AS l
                   WHERE l.key < @most_shards@ AND l.pid = ANY (array_agg(h.pid)) ORDER BY l.key) AS leads,
             (SELECT count(*) FROM locks AS l
              WHERE l.key = @present_key@ AND l.pid = ANY (array_agg(h.pid))) AS present
      FROM sessions AS h GROUP BY h.name, h.address) AS r))
