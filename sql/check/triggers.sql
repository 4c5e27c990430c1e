-- A trigger of the outbox that is missing, disabled, or fires in other cases. sql/state/objects.sql finds
-- triggers that call another function.
WITH @declared@,
wanted AS (
  SELECT l.number, l.name, regexp_replace(l.statement, '\s+', ' ', 'g') AS statement,
         substring(l.statement FROM '\sENABLE (\w+) TRIGGER ') AS fires
  FROM listed AS l WHERE l.kind = 'trigger')
SELECT CASE WHEN t.oid IS NULL OR t.tgenabled = 'D' THEN 'failure' ELSE 'warning' END,
       format('the trigger %I of %I.event %s', w.name, @schema_text@, CASE t.tgenabled
         WHEN 'A' THEN 'fires in all sessions'
         WHEN 'R' THEN 'fires only in logical replication and with session_replication_role = replica'
         WHEN 'O' THEN 'fires only in ordinary sessions'
         WHEN 'D' THEN 'is disabled'
         ELSE 'is gone' END),
       CASE WHEN t.oid IS NULL THEN w.statement
         ELSE format('ALTER TABLE %I.event ENABLE %s TRIGGER %I;', @schema_text@, w.fires, w.name) END
FROM wanted AS w
LEFT JOIN pg_trigger AS t
  ON t.tgname = w.name AND NOT t.tgisinternal AND t.tgrelid = format('%I.event', @schema_text@)::regclass
WHERE t.oid IS NULL OR t.tgenabled <> left(w.fires, 1)::"char"
ORDER BY w.number
LIMIT 1
