-- Tables and functions whose owner is not the owner of event. Functions run with the privileges of their
-- owner and call each other, so all of them need the same owner.
WITH @declared@,
event AS (
  SELECT r.oid, r.rolname FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_roles AS r ON r.oid = c.relowner
  WHERE c.oid = to_regclass(format('%I.event', @schema_text@))),
owned AS (
  SELECT 'function' AS kind, p.proname AS name, p.oid::regprocedure::text AS object, p.proowner AS owner
  FROM functions AS f JOIN pg_catalog.pg_proc AS p ON p.oid = f.oid
  UNION ALL
  SELECT 'table', c.relname, c.oid::regclass::text, c.relowner FROM pg_catalog.pg_class AS c
  WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = @schema_text@)
    AND c.relname IN (SELECT t.name FROM tables AS t))
SELECT format('the %s %s belongs to %s, and event to %s', o.kind, o.name, pg_catalog.pg_get_userbyid(o.owner),
              e.rolname),
       format('ALTER %s %s OWNER TO %I;', upper(o.kind), o.object, e.rolname), true
FROM owned AS o CROSS JOIN event AS e
WHERE o.owner <> e.oid
UNION ALL
SELECT format('%s, whose event is, may not use the schema %s', e.rolname, n.nspname),
       format('GRANT USAGE ON SCHEMA %I TO %I;', n.nspname, e.rolname), true
FROM event AS e JOIN pg_catalog.pg_namespace AS n ON n.nspname = @schema_text@
WHERE NOT has_schema_privilege(e.oid, n.oid, 'USAGE')
ORDER BY 1
