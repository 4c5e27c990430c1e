-- The privileges of a role in rights.sql that this session's user lacks, and the tables that hide their rows
-- from the user. Also default privileges that an administrator has revoked, if the given names include their
-- object. The names are all words of an error message, which names its object in any language, or the names
-- in the statements to run. Returns kind, name, privilege, a sentence about the user, and the statement that
-- fixes the problem. If the names include any of outboxd's own objects, a caller may ask for only those.
WITH wanted (role, kind, name, what, columns) AS (
@rights@),
me AS (
  SELECT u.oid, quote_ident(u.rolname) AS name, @role@ AS role, r.oid AS role_oid,
         u.oid = r.oid OR pg_has_role(u.oid, r.oid, 'MEMBER') AS is_member,
         pg_has_role(u.oid, r.oid, 'USAGE') AS inherits
  FROM pg_catalog.pg_roles AS u
  LEFT JOIN pg_catalog.pg_roles AS r ON r.rolname = @role@
  WHERE u.rolname = current_user),
here AS (SELECT n.oid, n.nspname FROM pg_catalog.pg_namespace AS n WHERE n.nspname = @schema_text@),
objects (kind, name, oid, object) AS (
  SELECT 'SCHEMA', '', h.oid, format('%I', h.nspname) FROM here AS h
  UNION ALL
  SELECT 'TABLE', c.relname, c.oid, format('%I.%I', h.nspname, c.relname)
  FROM here AS h JOIN pg_catalog.pg_class AS c ON c.relnamespace = h.oid AND c.relkind IN ('r', 'p')
  UNION ALL
  SELECT 'FUNCTION', p.proname, p.oid, p.oid::regprocedure::text
  FROM here AS h JOIN pg_catalog.pg_proc AS p
    ON p.pronamespace = h.oid AND p.proconfig @> '{"search_path=pg_catalog, pg_temp"}'),
partitioned AS (SELECT FROM here AS h JOIN pg_catalog.pg_class AS c ON c.relnamespace = h.oid
                WHERE c.relname = 'event' AND c.relkind = 'p'),
needed (kind, name, oid, object, what, attnum, is_named) AS (
  SELECT o.kind, o.name, o.oid, o.object, w.what, a.attnum, o.name = ANY (@names@)
  FROM wanted AS w
  JOIN objects AS o ON o.kind = w.kind AND o.name = w.name
  LEFT JOIN pg_catalog.pg_attribute AS a
    ON o.kind = 'TABLE' AND a.attrelid = o.oid AND a.attname = ANY (w.columns) AND NOT a.attisdropped
  WHERE w.role = @role@ AND (w.columns IS NULL OR a.attnum IS NOT NULL)
    AND (@only_named@ OR w.name NOT IN ('rotate_partition', 'drop_partition')
         OR EXISTS (SELECT FROM partitioned))
  UNION ALL
  SELECT 'FUNCTION', p.proname, p.oid, p.oid::regprocedure::text, 'EXECUTE', NULL, true
  FROM pg_catalog.pg_proc AS p
  WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proacl IS NOT NULL AND p.proname = ANY (@names@)
  UNION ALL
  SELECT 'TABLE', c.relname, c.oid, c.oid::regclass::text, 'SELECT', NULL, true
  FROM pg_catalog.pg_class AS c
  WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind IN ('r', 'v')
    AND c.relname = ANY (@names@)),
judged AS (
  SELECT n.*, s.is_role, CASE
    WHEN n.kind = 'SCHEMA' THEN has_schema_privilege(s.who, n.oid, n.what)
    WHEN n.kind = 'FUNCTION' THEN has_function_privilege(s.who, n.oid, n.what)
    WHEN n.attnum IS NULL THEN has_table_privilege(s.who, n.oid, n.what)
    ELSE has_column_privilege(s.who, n.oid, n.attnum, n.what) END IS TRUE AS has
  FROM needed AS n CROSS JOIN me
  CROSS JOIN LATERAL (VALUES (false, me.oid), (true, me.role_oid)) AS s (is_role, who)),
lacking AS (
  SELECT j.kind, j.name, j.oid, j.object, j.what, j.attnum, j.is_named, bool_or(j.has) AS role_has
  FROM judged AS j
  GROUP BY j.kind, j.name, j.oid, j.object, j.what, j.attnum, j.is_named
  HAVING NOT bool_or(j.has AND NOT j.is_role)),
hidden AS (
  SELECT o.name, o.object, o.name = ANY (@names@) AS is_named, p.policies
  FROM objects AS o
  CROSS JOIN LATERAL (SELECT string_agg(quote_ident(p.polname), ', ' ORDER BY p.polname) AS policies
                      FROM pg_catalog.pg_policy AS p WHERE p.polrelid = o.oid) AS p
  WHERE o.kind = 'TABLE' AND o.name IN (SELECT w.name FROM wanted AS w WHERE w.role = @role@)
    AND row_security_active(o.oid)),
shown AS (SELECT NOT @only_named@ OR NOT EXISTS (SELECT FROM lacking AS l WHERE l.is_named)
                   AND NOT EXISTS (SELECT FROM hidden AS h WHERE h.is_named) AS every_one)
SELECT 'ROLE', me.role, 'MEMBER',
       CASE WHEN me.role_oid IS NULL THEN format('the role %s is missing', me.role)
         WHEN me.is_member THEN format('user %s does not inherit the rights of %s', me.name, me.role)
         ELSE format('user %s is not a member of %s', me.name, me.role) END,
       CASE WHEN me.role_oid IS NULL THEN 'outboxd migrate'
         WHEN me.is_member AND current_setting('server_version_num')::integer >= 160000
           THEN format('GRANT %s TO %s WITH INHERIT TRUE;', me.role, me.name)
         WHEN me.is_member THEN format('ALTER ROLE %s INHERIT;', me.name)
         ELSE format('GRANT %s TO %s;', me.role, me.name) END
FROM me
WHERE me.role_oid IS NULL AND EXISTS (SELECT FROM lacking)
   OR me.inherits IS FALSE AND EXISTS (SELECT FROM lacking AS l WHERE l.role_has)
UNION ALL
SELECT g.kind, g.name, g.what,
       format('user %s lacks %s on %s%s', me.name, g.rights,
              CASE g.kind WHEN 'TABLE' THEN '' ELSE lower(g.kind) || ' ' END, g.object),
       format('GRANT %s ON %s %s TO %s;', g.rights, g.kind, g.object, me.role)
FROM me CROSS JOIN (
  SELECT l.kind, l.name, l.object, l.what,
         l.what || coalesce(' (' || string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) || ')', '')
           AS rights
  FROM lacking AS l
  LEFT JOIN pg_catalog.pg_attribute AS a ON l.kind = 'TABLE' AND a.attrelid = l.oid AND a.attnum = l.attnum
  WHERE NOT l.role_has AND (l.is_named OR (SELECT s.every_one FROM shown AS s))
  GROUP BY l.kind, l.name, l.object, l.what) AS g
WHERE me.role_oid IS NOT NULL
UNION ALL
SELECT 'ROW SECURITY', h.name, 'SELECT',
       format('row-level security on %s hides rows from user %s', h.object, me.name)
         || coalesce(' by policies that are not outboxd''s: ' || h.policies, ''),
       CASE WHEN h.policies IS NULL THEN format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY;', h.object)
         ELSE format('ALTER ROLE %s BYPASSRLS;', me.name) END
FROM hidden AS h CROSS JOIN me
WHERE h.is_named OR (SELECT s.every_one FROM shown AS s)
ORDER BY 1 DESC, 2, 3
