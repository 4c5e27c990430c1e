-- The roles that are not there. Each query of this folder returns how something differs from what `migrate`
-- makes: in words, the statement that mends it (empty: migrate cannot), and whether a relay needs it.
SELECT format('the role %s is missing', r.name), format('CREATE ROLE %I NOLOGIN;', r.name), true
FROM (VALUES ('outbox_writer'), ('outbox_relay'), ('outbox_operator')) AS r (name)
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS p WHERE p.rolname = r.name)
ORDER BY r.name
