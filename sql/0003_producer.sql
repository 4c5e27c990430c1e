-- The producers' side: the trigger on each INSERT, and emit.

CREATE TRIGGER event_admit BEFORE INSERT ON @schema@.event
  FOR EACH ROW EXECUTE FUNCTION @schema@.admit_event();
-- Also for rows that logical replication brings, and for sessions with session_replication_role = replica.
ALTER TABLE @schema@.event ENABLE ALWAYS TRIGGER event_admit;

-- Writes one event and returns its id. A plain INSERT into event works just as well.
-- available_at: not before this time. id: chosen by the caller; the same id twice is a unique violation
-- (23505).
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
