-- Functions that run with the rights of somebody who need not have any here.
SELECT format('the function %s belongs to %s, and the outbox to %s', p.proname, o.rolname, e.rolname),
       format('ALTER FUNCTION %s OWNER TO %I;', p.oid::regprocedure, e.rolname), true
FROM (VALUES @functions@) AS f (name, signature)
JOIN pg_catalog.pg_proc AS p ON p.oid = to_regprocedure(f.signature)
JOIN pg_catalog.pg_roles AS o ON o.oid = p.proowner
JOIN pg_catalog.pg_class AS c ON c.oid = to_regclass(format('%I.event', @schema_text@))
JOIN pg_catalog.pg_roles AS e ON e.oid = c.relowner
WHERE p.proowner <> c.relowner AND p.prosecdef
ORDER BY p.proname
