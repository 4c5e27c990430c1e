-- A user's index that depends on a column that a mark changes, even if only in its condition. Each mark then
-- adds an entry to this index and to all other indexes, because the mark is no longer a HOT update. From
-- PostgreSQL 16 on, a BRIN index does no harm.
SELECT 'warning',
       format('the index %s depends on status or published_at, which change when an event is published: '
              'marking events as published costs three times as much, and the table grows',
              i.indexrelid::regclass),
       format('DROP INDEX CONCURRENTLY %s;', i.indexrelid::regclass)
FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_am AS m ON m.oid = c.relam
JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
  AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid
JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = d.refobjsubid
WHERE i.indrelid IN (@tables@) AND a.attname IN ('status', 'published_at')
  AND NOT (m.amname = 'brin' AND current_setting('server_version_num')::integer >= 160000)
ORDER BY i.indexrelid::regclass::text
LIMIT 1
