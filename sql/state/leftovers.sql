-- What an outbox has that was made before INSERTs went without a trigger: the trigger, the column that it
-- filled, and triggers on UPDATE with conditions of then. Relays of then read that column. So all of it stays
-- while any relay is connected, and harms nobody: writers pay for it, and ring twice.
SELECT 'the trigger event_admit and what belongs to it are of an earlier outboxd',
       format('DROP TRIGGER IF EXISTS event_admit ON %1$s; DROP TRIGGER IF EXISTS event_keep_place ON %1$s;'
              ' DROP TRIGGER IF EXISTS event_agree_on_status ON %1$s; DROP FUNCTION %2$I.admit_event();'
              ' ALTER TABLE %1$s DROP COLUMN IF EXISTS hash CASCADE, ALTER headers DROP NOT NULL,'
              ' ALTER available_at DROP NOT NULL;', format('%I.event', @schema_text@), @schema_text@),
       true
WHERE to_regprocedure(format('%I.admit_event()', @schema_text@)) IS NOT NULL
  AND NOT EXISTS (
    SELECT FROM pg_catalog.pg_locks AS l
    WHERE l.locktype = 'advisory' AND l.classid = @lock_class@::oid AND l.objid = 129 AND l.objsubid = 2
      AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database()))
