-- Where synchronous_commit is off: for the server, for the database, and for all roles or a role that may
-- insert events, in this database or in all. A setting made within a session is not visible here.
SELECT 'warning',
       format('synchronous_commit is off for %s: its transactions are visible before they are on disk, and '
              'a crash of PostgreSQL may undo them after their events were published',
              string_agg(w.place, ', ')),
       string_agg(w.remedy, ' ')
FROM (
  SELECT 'the server', 'ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf();'
  FROM pg_settings AS s
  WHERE s.name = 'synchronous_commit' AND s.setting = 'off'
    AND s.source NOT IN ('database', 'user', 'database user', 'client', 'session')
  UNION ALL
  SELECT concat_ws(' in ', CASE WHEN s.setrole <> 0 THEN 'role ' || r.rolname END,
                   CASE WHEN s.setdatabase <> 0 THEN 'database ' || current_database()
                        WHEN s.setrole = 0 THEN 'all roles' END),
         format('ALTER ROLE %s%s RESET synchronous_commit;', coalesce(quote_ident(r.rolname), 'ALL'),
                CASE WHEN s.setdatabase <> 0 THEN format(' IN DATABASE %I', current_database()) END)
  FROM pg_db_role_setting AS s CROSS JOIN unnest(s.setconfig) AS c
  LEFT JOIN pg_roles AS r ON r.oid = s.setrole
  WHERE lower(c) IN ('synchronous_commit=off', 'synchronous_commit=false', 'synchronous_commit=no',
                     'synchronous_commit=0')
    AND (s.setdatabase = 0
         OR s.setdatabase = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()))
    AND (s.setrole = 0 OR has_any_column_privilege(r.oid, format('%I.event', @schema_text@), 'INSERT'))
) AS w (place, remedy)
HAVING count(*) > 0
