-- Sessions whose locks prevent relays from leading a shard, or from reading and marking events: $1
-- claim_timeout in milliseconds. app/check/activity_checks.cpp turns them into findings.
SELECT h.keeps_from, h.shard::text, h.mode, h.pid::text, h.user_name, h.application_name, h.query,
       h.waits_for, CASE WHEN NOT h.granted THEN coalesce((pg_blocking_pids(h.pid))[1], 0)::text END
FROM (@lock_holders@) AS h
WHERE h.keeps_from <> 'sleeping'
