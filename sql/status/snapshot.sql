-- The oldest snapshot, which holds back vacuum: that of a session in this database, a prepared transaction,
-- or a replication slot. `hidden_sessions` counts the sessions whose snapshots pg_stat_activity hides from
-- this user.
WITH holders AS (
  SELECT 'session' AS kind, a.pid, a.usename::text AS name, a.application_name AS application,
         age(a.backend_xmin) AS transactions, a.xact_start AS since
  FROM pg_stat_activity AS a
  WHERE a.backend_xmin IS NOT NULL AND a.pid <> pg_backend_pid()
    AND (a.datname = current_database() OR a.datname IS NULL)
  UNION ALL
  SELECT 'prepared transaction', NULL, p.gid, NULL, age(p.transaction), p.prepared
  FROM pg_prepared_xacts AS p WHERE p.database = current_database()
  UNION ALL
  SELECT 'replication slot', s.active_pid, s.slot_name::text, NULL, age(s.xmin), NULL
  FROM pg_replication_slots AS s WHERE s.xmin IS NOT NULL)
SELECT json_build_object(
  'oldest_snapshot', (
    SELECT json_build_object('kind', h.kind, 'pid', h.pid, 'name', h.name, 'application', h.application,
      'transactions', h.transactions,
      'age_seconds', round(extract(epoch FROM clock_timestamp() - h.since), 3))
    FROM holders AS h ORDER BY h.transactions DESC, h.since LIMIT 1),
  'hidden_sessions', (
    SELECT count(*) FROM pg_stat_activity AS a
    WHERE a.datname = current_database() AND a.usename IS NOT NULL AND a.backend_start IS NULL))
