-- Who requests the lead of shard $1, and is allowed to. A session requests it with a lock REQUEST, key 130 or
-- above, or by waiting for the lock LEAD itself. Its user must be allowed to lead, or own the outbox.
SELECT format('pid %s (user %s, application %s) asks to lead shard %s of %s', l.pid, a.usename,
              a.application_name, $1::bigint, @schema_text@)
FROM pg_locks AS l
JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.classid = @lock_class@::oid AND l.objsubid = 2
  AND (l.objid >= @request_key@::oid OR l.objid = $1::bigint::oid AND NOT l.granted)
  AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
  AND (has_table_privilege(a.usesysid, format('%I.shard', @schema_text@), 'UPDATE')
       OR pg_has_role(a.usesysid, (SELECT c.relowner FROM pg_class AS c
                                   WHERE c.oid = format('%I.shard', @schema_text@)::regclass), 'MEMBER'))
ORDER BY l.pid
LIMIT 1
