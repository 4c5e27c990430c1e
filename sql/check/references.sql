-- A foreign key that references events. CASCADE, SET NULL and SET DEFAULT allow an event to be deleted, and
-- change rows of the other table. Other actions prevent the deletion, which is a failure if published events
-- are to be deleted at once.
SELECT CASE WHEN NOT c.keeps THEN 'ok' WHEN @removes@ THEN 'failure' ELSE 'warning' END,
       format('the foreign key %I of %s %s', c.conname, c.conrelid::regclass, CASE
         WHEN NOT c.keeps THEN 'does not keep events'
         ELSE format('refers to events: %s those that are referred to', CASE
           WHEN @removes@ THEN 'retention.published = 0s cannot delete'
           ELSE 'retention and prune leave' END) END),
       format('ALTER TABLE %s DROP CONSTRAINT %I;  -- and make it again ON DELETE CASCADE or SET NULL',
              c.conrelid::regclass, c.conname)
FROM (SELECT k.*, k.confdeltype IN ('a', 'r') AS keeps FROM pg_constraint AS k) AS c
WHERE c.contype = 'f' AND c.conparentid = 0 AND c.confrelid IN (@tables@)
ORDER BY c.keeps DESC, c.conrelid::regclass::text, c.conname
LIMIT 1
