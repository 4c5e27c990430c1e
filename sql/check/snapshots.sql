-- What has held back vacuum for an hour: a prepared transaction, a session, or an inactive replication slot.
-- Only the oldest of each kind is returned.
SELECT h.verdict, h.words, h.remedy
FROM (
  SELECT 1, p.prepared, 'warning',
         format('transaction %L was prepared %s min ago, and holds back vacuum', p.gid,
                floor(extract(epoch FROM clock_timestamp() - p.prepared) / 60)),
         format('ROLLBACK PREPARED %L;', p.gid)
  FROM pg_prepared_xacts AS p
  WHERE p.database = current_database() AND p.prepared < clock_timestamp() - interval '1 hour'
  UNION ALL
  SELECT 2, a.xact_start, 'warning',
         format('pid %s (user %s, application %s) has been in a transaction for %s min, and holds back '
                'vacuum', a.pid, coalesce(a.usename, '?'), a.application_name,
                floor(extract(epoch FROM clock_timestamp() - a.xact_start) / 60)),
         format('SELECT pg_terminate_backend(%s);', a.pid)
  FROM pg_stat_activity AS a
  WHERE (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL) AND a.pid <> pg_backend_pid()
    AND (a.datname = current_database() OR a.datname IS NULL)
    AND a.xact_start < clock_timestamp() - interval '1 hour'
  UNION ALL
  SELECT 3, clock_timestamp() - age(s.xmin) * interval '1 second', 'warning',  -- the oldest one first
         format('replication slot %L is unused, and holds back vacuum by %s transactions', s.slot_name,
                age(s.xmin)),
         format('SELECT pg_drop_replication_slot(%L);', s.slot_name)
  FROM pg_replication_slots AS s
  WHERE s.xmin IS NOT NULL AND NOT s.active
  UNION ALL
  SELECT 4, NULL, 'ok',
         'none that holds back vacuum for an hour'
           || CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE') THEN ''
              ELSE format(', of sessions that %s may see (others: GRANT pg_read_all_stats TO %I)',
                          current_user, current_user) END,
         '') AS h (rank, since, verdict, words, remedy)
ORDER BY h.rank, h.since
LIMIT 1
