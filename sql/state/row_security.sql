-- Tables that hide their rows, for example because an event trigger enables row-level security on every new
-- table. Without a policy, row-level security is switched off. Policies were created by somebody else: they
-- are reported as long as they hide rows from a user of a relay or an operator, but not changed.
WITH @declared@,
ours AS (
  SELECT c.oid, c.relname, c.relrowsecurity, p.policies
  FROM pg_catalog.pg_class AS c
  CROSS JOIN LATERAL (SELECT string_agg(quote_ident(p.polname), ', ' ORDER BY p.polname) AS policies
                      FROM pg_catalog.pg_policy AS p WHERE p.polrelid = c.oid) AS p
  WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = @schema_text@)
    AND c.relname IN (SELECT t.name FROM tables AS t)),
blinded AS (
  SELECT FROM pg_catalog.pg_roles AS u JOIN pg_catalog.pg_roles AS r
    ON r.rolname IN ('outbox_relay', 'outbox_operator') AND pg_has_role(u.oid, r.oid, 'MEMBER')
  WHERE u.rolcanlogin AND NOT u.rolsuper AND NOT u.rolbypassrls)
SELECT format('row-level security is enabled on %s', t.relname)
         || coalesce(' with policies that are not outboxd''s: ' || t.policies, ''),
       CASE WHEN t.policies IS NULL
         THEN format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;',
                     t.oid::regclass)
         ELSE '' END,
       t.policies IS NULL
FROM ours AS t
WHERE t.relrowsecurity AND (t.policies IS NULL OR EXISTS (SELECT FROM blinded))
ORDER BY t.relname
