-- Objects of an earlier outboxd that the other queries in this folder would not find. Constraints and
-- triggers are dropped and created again. Old functions had other arguments.
--
-- In early versions, an INSERT needed a trigger: their outbox had that trigger, the column that it filled,
-- and triggers on UPDATE with other conditions. Relays of these versions read the column. So all of these
-- objects stay while any relay is connected, which does no harm: writers only pay for the trigger, and notify
-- twice.
SELECT 'the trigger event_admit and what belongs to it are of an earlier outboxd',
       format('DROP TRIGGER IF EXISTS event_admit ON %1$s; DROP TRIGGER IF EXISTS event_keep_place ON %1$s;'
              ' DROP TRIGGER IF EXISTS event_agree_on_status ON %1$s; DROP FUNCTION %2$I.admit_event();'
              ' ALTER TABLE %1$s DROP COLUMN IF EXISTS hash CASCADE, ALTER headers DROP NOT NULL,'
              ' ALTER available_at DROP NOT NULL;', format('%I.event', @schema_text@), @schema_text@),
       true
WHERE to_regprocedure(format('%I.admit_event()', @schema_text@)) IS NOT NULL
  AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_locks AS l
    WHERE l.locktype = 'advisory' AND l.classid = @lock_class@::oid
      AND l.objid = @relay_key@ AND l.objsubid = 2
      AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database()))
UNION ALL
-- From versions before 10, and before 12.
SELECT format('the constraint %s is of an earlier outboxd', k.name),
       format('ALTER TABLE %s DROP CONSTRAINT %I;', c.conrelid::regclass, k.name), true
FROM (VALUES ('audit', 'audit_what_known', 'cancel'), ('pause', 'pause_part_known', 'exchange'),
             ('pause', 'pause_name_of_type', 'exchange')) AS k (relation, name, knows)
JOIN pg_catalog.pg_constraint AS c
  ON c.conname = k.name AND c.conrelid = to_regclass(format('%I.%I', @schema_text@, k.relation))
WHERE strpos(pg_catalog.pg_get_constraintdef(c.oid), k.knows) = 0
UNION ALL
SELECT 'the trigger event_agree_on_status is of an earlier outboxd',
       format('DROP TRIGGER event_agree_on_status ON %s;', t.tgrelid::regclass), true
FROM pg_catalog.pg_trigger AS t
WHERE t.tgrelid = to_regclass(format('%I.event', @schema_text@)) AND t.tgname = 'event_agree_on_status'
  AND (strpos(pg_catalog.pg_get_triggerdef(t.oid), 'available_at') = 0
       OR strpos(pg_catalog.pg_get_triggerdef(t.oid), 'clock_timestamp') > 0)
UNION ALL
SELECT format('the function %s is of an earlier outboxd', f.oid), format('DROP FUNCTION %s;', f.oid), true
FROM (VALUES ('pause(text[], text[], boolean, timestamptz, text)'), ('resume(text[], text[], boolean, text)'),
             ('pause_words(text[], text[], boolean)'), ('pause_parts(text[], text[], boolean)'),
             ('events_edit(uuid[], @payload_type@, jsonb, text, text, text, boolean, bigint, bigint[])'))
  AS s (signature)
CROSS JOIN LATERAL (SELECT to_regprocedure(format('%I.', @schema_text@) || s.signature)) AS f (oid)
WHERE f.oid IS NOT NULL
