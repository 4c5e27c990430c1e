-- The producers' side: emit, scheduling, and the doorbell.

-- An event with a later available_at starts as waiting and so costs the claims nothing until it is due.
CREATE FUNCTION @schema@.schedule_event() RETURNS trigger LANGUAGE plpgsql AS $outboxd$
BEGIN
  NEW.status := 'waiting';
  RETURN NEW;
END
$outboxd$;

CREATE TRIGGER event_schedule BEFORE INSERT ON @schema@.event
  FOR EACH ROW WHEN (NEW.available_at > clock_timestamp() AND NEW.status = 'pending')
  EXECUTE FUNCTION @schema@.schedule_event();

-- Tells listening relays that there may be work. The channel has the schema's name; the payload is empty, so that
-- PostgreSQL merges the notifications of one transaction.
CREATE FUNCTION @schema@.ring_doorbell() RETURNS trigger LANGUAGE plpgsql AS $outboxd$
BEGIN
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
