-- Objects that are missing or differ from the files of sql/, each after the objects on which it depends. One
-- run covers the objects that columns depend on, another run those that depend on columns. A function whose
-- body names another schema was created before ALTER SCHEMA ... RENAME.
WITH @declared@,
here AS (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = @schema_text@),
wanted AS (
  SELECT l.number, l.kind, l.name, l.statement, NULL::regclass AS owner,
         CASE l.kind WHEN 'function' THEN f.oid
         WHEN 'trigger' THEN to_regprocedure(substring(l.statement FROM 'EXECUTE FUNCTION (.+?\(\));')) END
           AS function_oid,
         f.body, f.definer, f.settings, substring(l.statement FROM '\sENABLE (\w+) TRIGGER ') AS fires
  FROM listed AS l LEFT JOIN functions AS f ON f.number = l.number
  WHERE l.kind <> 'column'
  UNION ALL
  SELECT c.number, 'constraint', c.name,
         format('ALTER TABLE %I.%I ADD %s;', @schema_text@, c.relation, c.definition),
         to_regclass(format('%I.%I', @schema_text@, c.relation)), NULL, NULL, NULL, NULL, NULL
  FROM constraints AS c),
found AS (
  SELECT w.*, c.relkind, i.indisvalid, k.oid AS constraint_oid,
         t.oid AS trigger_oid, t.tgenabled, t.tgfoid, y.oid AS type_oid,
         p.prosrc IS DISTINCT FROM w.body OR p.prosecdef <> w.definer
           OR ARRAY(SELECT x FROM unnest(p.proconfig) AS x ORDER BY x COLLATE "C") <> w.settings
           AS other_function
  FROM wanted AS w
  LEFT JOIN pg_catalog.pg_class AS c
    ON w.kind IN ('table', 'index') AND c.relname = w.name AND c.relnamespace = (SELECT h.oid FROM here AS h)
  LEFT JOIN pg_catalog.pg_index AS i ON i.indexrelid = c.oid
  LEFT JOIN pg_catalog.pg_type AS y
    ON w.kind = 'type' AND y.typname = w.name AND y.typnamespace = (SELECT h.oid FROM here AS h)
  LEFT JOIN pg_catalog.pg_constraint AS k
    ON w.kind = 'constraint' AND k.conname = w.name AND k.conrelid = w.owner
  LEFT JOIN pg_catalog.pg_proc AS p ON w.kind = 'function' AND p.oid = w.function_oid
  LEFT JOIN pg_catalog.pg_trigger AS t
    ON w.kind = 'trigger' AND t.tgname = w.name AND NOT t.tgisinternal
       AND t.tgrelid = to_regclass(format('%I.event', @schema_text@)))
SELECT format(CASE WHEN f.indisvalid = false THEN 'the %s %s is not valid'
              WHEN f.kind = 'function' AND f.function_oid IS NOT NULL
                THEN 'the %s %s is not what migrate makes'
              WHEN f.trigger_oid IS NULL THEN 'the %s %s is missing'
              WHEN f.tgfoid IS DISTINCT FROM f.function_oid THEN 'the %s %s calls another function'
              ELSE 'the %s %s is not enabled ' || CASE f.fires WHEN 'ALWAYS' THEN 'always'
                ELSE 'for replicated rows, and for them alone' END END, f.kind, f.name),
       CASE WHEN f.indisvalid = false THEN format('REINDEX INDEX %I.%I;', @schema_text@, f.name)
         WHEN f.trigger_oid IS NULL THEN f.statement
         WHEN f.tgfoid IS DISTINCT FROM f.function_oid
           THEN format('DROP TRIGGER %I ON %I.event; %s', f.name, @schema_text@, f.statement)
         ELSE format('ALTER TABLE %I.event ENABLE %s TRIGGER %I;', @schema_text@, f.fires, f.name) END,
       f.trigger_oid IS NULL OR f.tgfoid IS DISTINCT FROM f.function_oid OR f.tgenabled = 'D'
FROM found AS f
WHERE (f.kind IN ('constraint', 'index', 'trigger')) = @on_columns@ AND CASE f.kind
  WHEN 'table' THEN f.relkind IS NULL
  WHEN 'index' THEN f.relkind IS NULL OR f.relkind = 'i' AND NOT f.indisvalid
  WHEN 'type' THEN f.type_oid IS NULL
  -- Each partition has a primary key of its own.
  WHEN 'constraint' THEN f.constraint_oid IS NULL AND f.owner IS NOT NULL
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c WHERE c.oid = f.owner AND c.relkind = 'p')
  WHEN 'function' THEN f.function_oid IS NULL OR f.other_function
  ELSE f.tgenabled IS DISTINCT FROM left(f.fires, 1) OR f.tgfoid IS DISTINCT FROM f.function_oid END
ORDER BY array_position('{type,function,table,constraint,index,trigger}', f.kind), f.number
