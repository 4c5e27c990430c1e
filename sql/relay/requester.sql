-- Who asks for the lead of a shard, and may have it: $1 key 1 of the locks, $2 shard. A session asks by a
-- lock REQUEST, key 130 or above, or waits for the lock LEAD itself. Its user may lead, or owns the outbox.
-- Columns as in lead_holder.
SELECT $2::bigint, l.mode, l.pid, a.usename::text, a.application_name, a.query
FROM pg_locks AS l
JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.classid = $1::integer::oid AND l.objsubid = 2
  AND (l.objid >= 130::oid OR l.objid = $2::bigint::oid AND NOT l.granted)
  AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
  AND (has_table_privilege(a.usesysid, format('%I.shard', @schema_text@), 'UPDATE')
       OR pg_has_role(a.usesysid, (SELECT c.relowner FROM pg_class AS c
                                   WHERE c.oid = format('%I.shard', @schema_text@)::regclass), 'MEMBER'))
ORDER BY l.pid
LIMIT 1
