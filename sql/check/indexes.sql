-- An index of the table of events that is missing or invalid. Each partition has a primary key of its own.
WITH @declared@,
wanted AS (
  SELECT l.number, l.name, regexp_replace(l.statement, '\s+', ' ', 'g') AS statement
  FROM listed AS l WHERE l.kind = 'index' AND l.statement LIKE '%.event (%'
  UNION ALL
  SELECT -1, 'event_pkey',
         format('ALTER TABLE %I.event ADD CONSTRAINT event_pkey PRIMARY KEY (id);', @schema_text@)),
found (name, is_valid) AS (
  SELECT c.relname::text, i.indisvalid
  FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
  WHERE i.indrelid = format('%I.event', @schema_text@)::regclass
  UNION ALL
  SELECT 'event_pkey', bool_and(EXISTS (
           SELECT FROM pg_index AS k
           WHERE k.indrelid = p.inhrelid AND k.indisprimary AND k.indisvalid))
  FROM pg_inherits AS p WHERE p.inhparent = format('%I.event', @schema_text@)::regclass
  HAVING count(*) > 0)
SELECT CASE WHEN f.name IS NULL THEN 'failure' ELSE 'warning' END,
       CASE WHEN f.name IS NULL
         THEN format('the index %s of %I.event is gone; %s', w.name, @schema_text@,
                     CASE w.name WHEN 'event_refused' THEN 'any row may be inserted'
                       ELSE 'the relay needs it to read' END)
         ELSE format('the index %s is not valid, and nothing uses it', w.name) END,
       CASE WHEN f.name IS NULL THEN w.statement
         ELSE format('REINDEX INDEX CONCURRENTLY %I.%I;', @schema_text@, w.name) END
FROM wanted AS w LEFT JOIN found AS f ON f.name = w.name
WHERE f.is_valid IS NOT TRUE
ORDER BY w.number
LIMIT 1
