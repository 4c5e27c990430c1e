-- Manual changes of events. A user who changes an event need not know the relay's columns, and cannot corrupt
-- them.
--
-- These are AFTER triggers that repair a row with another UPDATE, because a BEFORE trigger would lock every
-- row once more before the relay's marks. A mark fires neither trigger. The functions check the details,
-- because each INSERT copies the conditions of all triggers, and a long condition costs as much as an index.

-- Rejects tables other than event. Otherwise a user could attach such a trigger function, which runs with the
-- owner's privileges, to a table of their own, whose rows could name any event. That needs EXECUTE for
-- PUBLIC, which a restore without privileges brings back.
CREATE OR REPLACE FUNCTION @schema@.require_event(which oid) RETURNS void LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $outboxd$
BEGIN
  IF which <> format('%I.event', @schema_text@)::regclass
     AND NOT EXISTS (SELECT FROM pg_inherits AS i
                     WHERE i.inhrelid = which
                       AND i.inhparent = format('%I.event', @schema_text@)::regclass) THEN
    RAISE insufficient_privilege USING
      MESSAGE = format('this trigger is for %I.event alone, and not for %s', @schema_text@, which::regclass);
  END IF;
END
$outboxd$;

-- Restores seq and tx to their values at the INSERT, so an upsert that writes all columns does not change
-- them. An unfinished event also keeps its aggregate (23514, check_violation), because other events of that
-- aggregate may be waiting for it. The repairing UPDATE itself changes seq and tx, and is recognized by a
-- setting. The function body changes this setting, because a SET clause for it would need a superuser to
-- create the function.
CREATE OR REPLACE FUNCTION @schema@.keep_place() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $outboxd$
BEGIN
  IF current_setting('outbox.keeps_place', true) = 'on'
     OR (NEW.seq, NEW.tx, NEW.aggregate_type, NEW.aggregate_id)
          IS NOT DISTINCT FROM (OLD.seq, OLD.tx, OLD.aggregate_type, OLD.aggregate_id) THEN
    RETURN NULL;
  END IF;
  PERFORM @schema@.require_event(TG_RELID);
  IF (NEW.aggregate_type, NEW.aggregate_id) IS DISTINCT FROM (OLD.aggregate_type, OLD.aggregate_id)
     AND OLD.status IN ('pending', 'waiting') THEN
    RAISE check_violation USING
      MESSAGE = format('the aggregate of event %s cannot be changed while it is %s', OLD.id, OLD.status),
      HINT = 'Insert another event instead.',
      SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, CONSTRAINT = 'event_aggregate_kept';
  END IF;
  PERFORM set_config('outbox.keeps_place', 'on', true);
  UPDATE @schema@.event AS e
  SET seq = OLD.seq, tx = OLD.tx
  WHERE e.id = NEW.id AND e.seq = NEW.seq;
  PERFORM set_config('outbox.keeps_place', '', true);
  RETURN NULL;
END
$outboxd$;

-- Notifies relays so that they look at once. Used by commands. If the queue that all databases of the server
-- share is full, NOTIFY fails, and with it the transaction of the command. So no notification is sent while
-- the queue is more than half full.
CREATE OR REPLACE FUNCTION @schema@.tell_relays(word text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $outboxd$
DECLARE
  usage CONSTANT double precision := pg_notification_queue_usage();
BEGIN
  IF usage < 0.5 THEN
    PERFORM pg_notify(@schema_text@, word);
  ELSE
    RAISE WARNING USING
      MESSAGE = format('done, but relays were not told: the server''s queue of notifications is full to %s'
                       ' %%; they find it by themselves within ten seconds', round(100 * usage)),
      HINT = 'Some session listens in a transaction that lasts: `outboxd check` names it.';
  END IF;
END
$outboxd$;
REVOKE ALL ON FUNCTION @schema@.tell_relays(text) FROM PUBLIC;

-- Keeps status and exception consistent. An event that is manually set to pending becomes waiting and due:
-- the leader has already read past its seq, but finds waiting events.
-- The event keeps its kind of wait (exception), so that later events of its aggregate stay behind it. A
-- pending event whose available_at is moved into the future becomes scheduled, because the leader sends every
-- pending event.
CREATE OR REPLACE FUNCTION @schema@.agree_on_status() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $outboxd$
DECLARE
  again   CONSTANT boolean := NEW.status = 'pending'
                              OR NEW.status = 'waiting' AND coalesce(NEW.exception, 'dead') = 'dead';
  waits   @schema@.event_exception := coalesce(nullif(NEW.exception, 'dead'), nullif(OLD.exception, 'dead'));
BEGIN
  IF NOT (NEW.status = 'pending' AND (OLD.status <> 'pending' OR NEW.exception IS NOT NULL
            OR NEW.available_at > coalesce(OLD.available_at, OLD.created_at)
               AND NEW.available_at > clock_timestamp())
          OR NEW.status = 'waiting' AND coalesce(NEW.exception, 'dead') = 'dead'
          OR NEW.status = 'published' AND NEW.exception IS NOT NULL
          OR NEW.status = 'dead' AND NEW.exception IS DISTINCT FROM 'dead'
          OR NEW.status = 'waiting' AND NEW.available_at IS NULL AND NEW.exception <> 'parked'
          OR (NEW.status = 'published') <> (NEW.published_at IS NOT NULL)) THEN
    RETURN NULL;
  END IF;
  PERFORM @schema@.require_event(TG_RELID);
  IF waits IS NULL AND (NEW.available_at > clock_timestamp()
                        OR OLD.status = 'pending' AND NEW.status = 'pending' AND NEW.exception IS NULL) THEN
    waits := 'scheduled';
  END IF;
  UPDATE @schema@.event AS e
  SET status = CASE WHEN again THEN 'waiting' ELSE NEW.status END,
      exception = CASE WHEN again THEN coalesce(waits, 'backing_off')
                  WHEN NEW.status = 'dead' THEN 'dead' END,
      available_at = CASE WHEN again AND NEW.available_at IS NOT DISTINCT FROM OLD.available_at
                     THEN least(NEW.available_at, clock_timestamp())
                     ELSE coalesce(NEW.available_at, clock_timestamp()) END,
      published_at = CASE WHEN NEW.status = 'published'
                     THEN coalesce(NEW.published_at, clock_timestamp()) END,
      first_failed_at = CASE WHEN NOT again AND NEW.status <> 'published' THEN e.first_failed_at END,
      waits_for = CASE WHEN NOT again THEN e.waits_for END
  WHERE e.id = NEW.id AND e.seq = NEW.seq;
  IF again THEN
    PERFORM pg_notify(@schema_text@, 'due') WHERE pg_notification_queue_usage() < 0.5;
  END IF;
  RETURN NULL;
END
$outboxd$;
