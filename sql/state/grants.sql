-- Granted privileges, compared with rights.sql. `migrate` uses this query to grant missing privileges. It
-- also revokes the privileges that a restore without privileges has given to PUBLIC, but only on outboxd's
-- own objects, because an application may share the schema. It leaves other privileges of roles and users
-- alone.
WITH @declared@,
wanted (role, kind, name, what, columns) AS (
@rights@),
relations AS (
  SELECT c.relname AS name, c.oid::regclass AS oid, c.relacl
  FROM pg_catalog.pg_class AS c
  WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = @schema_text@)
    AND c.relname IN (SELECT t.name FROM tables AS t)),
-- The existing privileges on each object, and on each column that has its own.
held AS (
  SELECT 'SCHEMA' AS kind, '' AS name, format('%I', n.nspname) AS object, NULL::name AS col, a.*
  FROM pg_catalog.pg_namespace AS n CROSS JOIN LATERAL aclexplode(n.nspacl) AS a
  WHERE n.nspname = @schema_text@
  UNION ALL
  SELECT 'TABLE', t.name, t.oid::text, NULL, a.*
  FROM relations AS t CROSS JOIN LATERAL aclexplode(t.relacl) AS a
  UNION ALL
  SELECT 'TABLE', t.name, t.oid::text, c.attname, a.*
  FROM relations AS t JOIN pg_catalog.pg_attribute AS c ON c.attrelid = t.oid AND NOT c.attisdropped
  CROSS JOIN LATERAL aclexplode(c.attacl) AS a
  UNION ALL
  SELECT 'FUNCTION', f.name, f.oid::text, NULL, a.*
  FROM functions AS f JOIN pg_catalog.pg_proc AS p ON p.oid = f.oid
  CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a),
objects AS (
  SELECT 'SCHEMA' AS kind, '' AS name, format('%I', @schema_text@) AS object
  UNION ALL SELECT 'TABLE', t.name, t.oid::text FROM relations AS t
  UNION ALL SELECT 'FUNCTION', f.name, f.oid::text FROM functions AS f WHERE f.oid IS NOT NULL),
missing AS (
  SELECT w.role, w.kind, o.object,
         w.what || coalesce(' (' || (SELECT string_agg(format('%I', c.name), ', ' ORDER BY c.number)
                                     FROM unnest(w.columns) WITH ORDINALITY AS c (name, number)) || ')',
                            '') AS rights
  FROM wanted AS w JOIN objects AS o ON o.kind = w.kind AND o.name = w.name
  WHERE EXISTS (
    SELECT FROM unnest(coalesce(w.columns, '{*}')) AS c (name)
    WHERE NOT EXISTS (SELECT FROM held AS h
                      WHERE h.kind = w.kind AND h.object = o.object AND h.privilege_type = w.what
                        AND h.grantee = (SELECT r.oid FROM pg_catalog.pg_roles AS r WHERE r.rolname = w.role)
                        AND (h.col IS NULL OR h.col = c.name))))
SELECT format('%s lacks %s on %s', m.role, string_agg(m.rights, ', ' ORDER BY m.rights), m.object),
       format('GRANT %s ON %s %s TO %s;', string_agg(m.rights, ', ' ORDER BY m.rights), m.kind, m.object,
              m.role),
       false
FROM missing AS m GROUP BY m.role, m.kind, m.object
UNION ALL
SELECT format('PUBLIC may %s %s', h.privilege_type, string_agg(h.object, ', ' ORDER BY h.object)),
       format('REVOKE %s ON %s %s FROM PUBLIC;',
              CASE WHEN bool_or(h.col IS NOT NULL) THEN format('%s (%I)', h.privilege_type, min(h.col))
              ELSE h.privilege_type END,
              h.kind, string_agg(h.object, ', ' ORDER BY h.object)),
       true
FROM held AS h WHERE h.grantee = 0 AND h.kind <> 'SCHEMA'
GROUP BY h.kind, h.privilege_type, h.col
ORDER BY 1
