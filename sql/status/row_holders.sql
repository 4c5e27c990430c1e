-- Sessions that keep relays from marking events: see sql/state/row_holders.sql.
SELECT json_build_object('culprits', coalesce(json_agg(json_build_object(
  'keeps_from', h.keeps_from, 'shard', h.shard, 'mode', h.mode, 'pid', h.pid, 'user', h.user_name,
  'application', h.application_name, 'waits_for', h.waits_for, 'behind', NULL)), '[]'))
FROM (@row_holders@) AS h
