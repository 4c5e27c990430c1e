-- Whether the server accepts writes from this user, and if not, why.
SELECT 'failure', 'the server is a standby, which takes no writes',
       'database.url: name the primary, or all hosts (postgresql://user@a,b,c/database)'
WHERE pg_is_in_recovery()
UNION ALL
SELECT 'failure',
       format('the %s is read-only (default_transaction_read_only)',
              CASE WHEN s.source IN ('user', 'database') THEN s.source ELSE 'server' END),
       CASE s.source
         WHEN 'user' THEN format('ALTER ROLE %I RESET default_transaction_read_only;', current_user)
         WHEN 'database'
           THEN format('ALTER DATABASE %I RESET default_transaction_read_only;', current_database())
         ELSE 'ALTER SYSTEM RESET default_transaction_read_only; SELECT pg_reload_conf();' END
FROM pg_settings AS s
WHERE s.name = 'default_transaction_read_only' AND current_setting('transaction_read_only') = 'on'
  AND NOT pg_is_in_recovery()
