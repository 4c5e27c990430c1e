-- Sessions whose locks prevent relays from leading, being idle or writing: see sql/relay/lock_holders.sql.
-- $1 claim_timeout in milliseconds. A lock that was not granted yet waits for another session's lock.
SELECT json_build_object('culprits', coalesce(json_agg(json_build_object(
  'keeps_from', h.keeps_from, 'shard', h.shard, 'mode', h.mode, 'pid', h.pid, 'user', h.user_name,
  'application', h.application_name, 'waits_for', h.waits_for, 'behind', CASE WHEN NOT h.granted
    THEN (pg_blocking_pids(h.pid))[1] END)), '[]'))
FROM (@lock_holders@) AS h
