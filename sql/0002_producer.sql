-- The producers' side: emit, what an event has to be like, scheduling, and the doorbell.

-- Refuses (23514, check_violation) what no event may be like. As CHECK constraints these conditions would cost a writer
-- six times as much, a quarter of the whole INSERT: PostgreSQL parses those anew for every statement.
-- An event with a later available_at starts as waiting and so costs the claims nothing until it is due.
CREATE FUNCTION @schema@.admit_event() RETURNS trigger LANGUAGE plpgsql AS $outboxd$
DECLARE
  empty text;
BEGIN
  IF NEW.aggregate_type = '' OR NEW.aggregate_id = '' OR NEW.event_type = '' THEN
    empty := CASE '' WHEN NEW.aggregate_type THEN 'aggregate_type' WHEN NEW.aggregate_id THEN 'aggregate_id' ELSE 'event_type' END;
    RAISE check_violation USING
      MESSAGE = format('the %s of an event is empty', empty),
      SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = empty, CONSTRAINT = 'event_' || empty || '_not_empty';
  END IF;
  IF pg_catalog.jsonb_typeof(NEW.headers) <> 'object' THEN
    RAISE check_violation USING
      MESSAGE = format('the headers of an event are a JSON object, such as {"tenant": "a"}, but here of type %s',
        pg_catalog.jsonb_typeof(NEW.headers)),
      SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'headers', CONSTRAINT = 'event_headers_object';
  END IF;
  IF NEW.attempts < 0 THEN
    RAISE check_violation USING
      MESSAGE = format('the attempts of an event are a count: %s is below 0', NEW.attempts),
      SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'attempts', CONSTRAINT = 'event_attempts_not_negative';
  END IF;
  IF NEW.available_at > pg_catalog.clock_timestamp() AND NEW.status = 'pending' THEN
    NEW.status := 'waiting';
  END IF;
  IF NEW.status <> 'pending' THEN
    NEW.aside := nullif(NEW.status, 'published');
  END IF;
  RETURN NEW;
END
$outboxd$;

CREATE TRIGGER event_admit BEFORE INSERT ON @schema@.event
  FOR EACH ROW EXECUTE FUNCTION @schema@.admit_event();

-- Whoever changes an event by hand need not know of the column aside: a new status shows in it, and so does another
-- aggregate, with which a pending event comes into another shard, perhaps below its floor.
CREATE FUNCTION @schema@.set_aside() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = @schema@, pg_temp
SET enable_seqscan = off
AS $outboxd$
BEGIN
  UPDATE event AS e SET aside = nullif(e.status, 'published') WHERE e.id = NEW.id;
  RETURN NULL;
END
$outboxd$;

CREATE TRIGGER event_aside AFTER UPDATE OF status, aggregate_type, aggregate_id ON @schema@.event
  FOR EACH ROW WHEN (NEW.aside IS DISTINCT FROM nullif(NEW.status, 'published')) EXECUTE FUNCTION @schema@.set_aside();

-- The doorbell tells listening relays that there may be work, but only when that is of use: a commit that carries a NOTIFY
-- takes a lock of the whole cluster and holds it through its flush. The channel has the schema's name; the payload is
-- empty, so that PostgreSQL merges the notifications of one transaction.
--
-- Two advisory locks say whether to ring. Key 1 is the oid of the event table, as for the shards, and key 2:
--   64 MUTE   held or waited for by a relay that is awake and looks at the table by itself, again and again
--   65 SKIP   held by each writer that said nothing, until its commit is visible
--   66 QUEUE  held by the relay that may wait for MUTE: one at a time
-- Writers try, and never wait. A relay that goes to sleep gives up MUTE, asks until nobody holds MUTE or SKIP any more,
-- and looks once more: that look sees the events of all who said nothing.
--
-- MUTE is asked a second time after SKIP is held: between the two a relay may have gone to sleep without seeing us.
-- Rolled back to a savepoint, a writer loses the locks that it took since then, with the events that it wrote.
CREATE FUNCTION @schema@.ring_doorbell() RETURNS trigger LANGUAGE plpgsql AS $outboxd$
DECLARE
  lock_class CONSTANT integer := TG_RELID::integer;
BEGIN
  IF NOT pg_catalog.pg_try_advisory_xact_lock_shared(lock_class, 64) THEN
    IF pg_catalog.pg_try_advisory_xact_lock_shared(lock_class, 65) THEN
      IF NOT pg_catalog.pg_try_advisory_xact_lock_shared(lock_class, 64) THEN
        RETURN NULL;
      END IF;
    END IF;
  END IF;
  PERFORM pg_catalog.pg_notify(@schema_text@, '');
  RETURN NULL;
END
$outboxd$;

CREATE TRIGGER event_doorbell AFTER INSERT ON @schema@.event
  FOR EACH STATEMENT EXECUTE FUNCTION @schema@.ring_doorbell();

-- Writes one event and returns its id. A plain INSERT into event works just as well.
-- available_at: not before this time. id: chosen by the caller; the same id twice is a unique violation (23505).
CREATE FUNCTION @schema@.emit(
  aggregate_type text,
  aggregate_id   text,
  event_type     text,
  payload        @payload_type@,
  headers        jsonb       DEFAULT '{}',
  available_at   timestamptz DEFAULT now(),
  id             uuid        DEFAULT gen_random_uuid()
) RETURNS uuid LANGUAGE plpgsql AS $outboxd$
BEGIN
  INSERT INTO @schema@.event (id, aggregate_type, aggregate_id, event_type, payload, headers, available_at)
  VALUES (emit.id, emit.aggregate_type, emit.aggregate_id, emit.event_type, emit.payload, emit.headers,
          emit.available_at);
  RETURN emit.id;
END
$outboxd$;
