-- Missing roles. Each query in this folder returns the differences from an outbox created by `migrate`: a
-- description, the statement that fixes the difference (empty: migrate cannot), and whether a relay requires
-- it.
SELECT format('the role %s is missing', r.name), format('CREATE ROLE %I NOLOGIN;', r.name), true
FROM (VALUES ('outbox_writer'), ('outbox_relay'), ('outbox_operator')) AS r (name)
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS p WHERE p.rolname = r.name)
ORDER BY r.name
