-- Whether the table of events, or a partition of it, is vacuumed.
SELECT 'warning', v.words, v.remedy
FROM (
  SELECT 1, format('autovacuum is switched off for %I.%I, which keeps growing', @schema_text@, c.relname),
         format('ALTER TABLE %I.%I RESET (autovacuum_enabled);', @schema_text@, c.relname)
  FROM pg_class AS c CROSS JOIN pg_options_to_table(c.reloptions) AS o
  WHERE c.oid IN (@tables@) AND o.option_name = 'autovacuum_enabled' AND NOT o.option_value::boolean
  UNION ALL
  SELECT 2, format('%s is off: no table of this server is vacuumed automatically', s.name),
         format('ALTER SYSTEM SET %s = on; SELECT pg_reload_conf();', s.name)
  FROM pg_settings AS s
  WHERE s.name IN ('autovacuum', 'track_counts') AND s.setting = 'off') AS v (rank, words, remedy)
ORDER BY v.rank, v.words
LIMIT 1
