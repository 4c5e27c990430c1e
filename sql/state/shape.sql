-- The parameters of an existing outbox. The function mend_shards takes precedence over the rows about shards
-- and doorbell, because those rows may be missing or come from a copy. Returns the number of shards, whether
-- writers notify, whether this user may read the rows of shards, and the payload's type. Unknown values are
-- null.
SELECT substring(p.prosrc FROM 'generate_series[(]0, ([0-9]+) - 1[)]'),
       substring(p.prosrc FROM 'SELECT s, (true|false) FROM'),
       has_table_privilege(to_regclass(format('%I.shard', @schema_text@)), 'SELECT'),
       pg_catalog.format_type(a.atttypid, NULL)
FROM (VALUES (to_regprocedure(format('%I.mend_shards()', @schema_text@)))) AS f (oid)
LEFT JOIN pg_catalog.pg_proc AS p ON p.oid = f.oid
LEFT JOIN pg_catalog.pg_attribute AS a
  ON a.attrelid = to_regclass(format('%I.event', @schema_text@)) AND a.attname = 'payload'
     AND NOT a.attisdropped
