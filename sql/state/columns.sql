-- Columns that are missing or differ from the files of sql/. A cast that PostgreSQL adds to a literal, such
-- as 'pending'::event_status, does not count as a difference, nor do its line breaks in an expression.
-- Columns that hold the state of an event cannot be recreated: with the default, all events would be pending.
WITH @declared@,
found AS (
  SELECT w.*, a.attnum, a.atttypid, a.attnotnull, a.attidentity,
         ltrim(regexp_replace(pg_catalog.pg_get_expr(d.adbin, d.adrelid), '[[:space:]]+', ' ', 'g'))
           AS is_default,
         -- PostgreSQL quotes names only if necessary.
         replace(w.fallback, format('"%s".', replace(@schema_text@, '"', '""')),
                 format('%I.', @schema_text@)) AS wanted_default,
         format('ALTER TABLE %I.%I ', @schema_text@, w.relation) AS alter_table,
         format('the column %s of %s ', w.name, w.relation) AS words
  FROM columns AS w
  JOIN pg_catalog.pg_class AS c ON c.oid = to_regclass(format('%I.%I', @schema_text@, w.relation))
  LEFT JOIN pg_catalog.pg_attribute AS a
    ON a.attrelid = c.oid AND a.attname = w.name AND NOT a.attisdropped
  LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum)
SELECT f.words || 'is missing',
       CASE WHEN f.relation = 'event' AND f.name IN ('id', 'seq', 'tx', 'status', 'exception') THEN ''
       ELSE format('%sADD COLUMN %s;', f.alter_table, f.definition) END, true
FROM found AS f WHERE f.attnum IS NULL
UNION ALL
SELECT f.words || format('has the type %s instead of %s', pg_catalog.format_type(f.atttypid, NULL), f.type),
       '', true
FROM found AS f WHERE f.atttypid <> to_regtype(f.type)
UNION ALL
SELECT f.words || 'may be null', format('%sALTER %I SET NOT NULL;', f.alter_table, f.name), true
FROM found AS f WHERE f.needed AND NOT f.attnotnull
UNION ALL
SELECT f.words || format('has %s instead of the default %s',
                         coalesce('the default ' || f.is_default, 'no default'), f.wanted_default),
       format('%sALTER %I SET DEFAULT %s;', f.alter_table, f.name, f.wanted_default), true
FROM found AS f
WHERE f.attnum IS NOT NULL AND f.fallback IS NOT NULL
  AND coalesce(f.is_default, '') <> regexp_replace(f.wanted_default, '[[:space:]]+', ' ', 'g')
  AND NOT starts_with(coalesce(f.is_default, ''), f.wanted_default || '::')
UNION ALL
SELECT f.words || 'has no sequence', format('%sALTER %I ADD %s;', f.alter_table, f.name, f.identity), true
FROM found AS f WHERE f.attnum IS NOT NULL AND f.identity IS NOT NULL AND f.attidentity = ''
