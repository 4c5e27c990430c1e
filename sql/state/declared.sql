-- The objects that the files of sql/ create, extracted from their statements. Other queries in this folder
-- begin with this one. The schema's name is quoted in a statement, and may be any name.
--
-- Columns: number, kind, name, statement. A column that a migration adds has its table as the name, and its
-- definition as the statement.
listed (number, kind, name, statement) AS (VALUES @statements@),
functions AS (
  SELECT l.number, l.name, split_part(l.statement, '$outboxd$', 2) AS body,
         h.head ~ '\sSECURITY DEFINER\s' AS definer,
         -- As pg_proc.proconfig stores the settings.
         ARRAY(SELECT s.m[1] || '=' || replace(s.m[2], '''', '')
               FROM regexp_matches(h.head, '\sSET (\w+?) = (.+?)(?=\s+SET\s|\s+AS\s)', 'g') AS s (m)
               ORDER BY s.m[1] COLLATE "C") AS settings,
         to_regprocedure(format('%I.%I(%s)', @schema_text@, l.name, (
           SELECT string_agg(a.m[2], ', ' ORDER BY a.n)
           FROM regexp_matches(
                  substring(h.head FROM '"(?:[^"]|"")+?"\.\w+\((.*?)\)\s+(RETURNS|LANGUAGE)\s'),
                  '(OUT )?\w+\s+((?:"(?:[^"]|"")+"\.)?[\w\[\]]+)(?: DEFAULT [^,]+)?\s*(?:,|$)', 'g')
             WITH ORDINALITY AS a (m, n)
           WHERE a.m[1] IS NULL))) AS oid
  FROM listed AS l
  CROSS JOIN LATERAL split_part(l.statement, '$outboxd$', 1) AS h (head)
  WHERE l.kind = 'function'),
tables AS (SELECT l.name FROM listed AS l WHERE l.kind = 'table'),
-- Columns and constraints. Each column or constraint begins on its own line, indented by two spaces.
definitions (number, relation, definition) AS (
  SELECT l.number, l.name, d.definition
  FROM listed AS l
  CROSS JOIN LATERAL regexp_split_to_table(substring(l.statement FROM '\(\n  (.*?)\n\)'), ',\n  (?=\S)')
    AS d (definition)
  WHERE l.kind = 'table'
  UNION ALL
  SELECT l.number, l.name, l.statement FROM listed AS l WHERE l.kind = 'column'),
columns AS (
  SELECT d.relation, d.definition, c.m[1] AS name, c.m[2] AS type, c.m[3] IS NOT NULL AS needed,
         c.m[4] AS fallback, c.m[5] AS identity
  FROM definitions AS d
  CROSS JOIN LATERAL regexp_match(d.definition,
    '^(\w+)\s+((?:"(?:[^"]|"")+"\.)?[\w\[\]]+)(\s+NOT NULL)?'
    '(?:\s+REFERENCES .+|\s+DEFAULT (.+)|\s+(GENERATED .+))?$') AS c (m)
  WHERE NOT starts_with(d.definition, 'CONSTRAINT ')),
constraints AS (
  SELECT d.number, d.relation, d.definition, split_part(d.definition, ' ', 2) AS name
  FROM definitions AS d WHERE starts_with(d.definition, 'CONSTRAINT '))
