-- The producers' side: emit.

-- Whether a text can be cast to jsonb, json or uuid, or is a JSON object. Null counts as valid. The triggers
-- of `adopt` skip rows that cannot become events. PostgreSQL has a function for this since 16.
CREATE OR REPLACE FUNCTION @schema@.can_become(value text, kind text)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE
AS $outboxd$
DECLARE
  document pg_catalog.jsonb;
  bytes    pg_catalog.json;
  id       pg_catalog.uuid;
BEGIN
  IF kind OPERATOR(pg_catalog.=) 'uuid' THEN
    id := value::pg_catalog.uuid;
  ELSIF kind OPERATOR(pg_catalog.=) 'json' THEN
    bytes := value::pg_catalog.json;
  ELSE
    document := value::pg_catalog.jsonb;
  END IF;
  RETURN kind OPERATOR(pg_catalog.<>) 'object' OR document IS NULL
         OR pg_catalog.jsonb_typeof(document) OPERATOR(pg_catalog.=) 'object';
EXCEPTION WHEN OTHERS THEN
  RETURN false;
END
$outboxd$;

-- Writes one event and returns its id. A plain INSERT into event works just as well.
-- aggregate_id: any value that can be converted to text, such as a number, a uuid or an enum. payload: any
-- value that can be converted to the table's type. headers: null for none. available_at: the earliest time to
-- publish the event; null for now. id: chosen by the caller, or null; using an id twice is a unique violation
-- (23505).
--
-- There is one function for each pair of types that payload and headers may have, because PostgreSQL does not
-- implicitly cast json to jsonb or jsonb to text. A literal or a parameter of unknown type matches several
-- functions, and PostgreSQL prefers text if one of them accepts it. So each argument accepts either text or
-- exactly one type. Only the functions with text headers may be called without headers, because the call
-- would be ambiguous otherwise.
CREATE OR REPLACE FUNCTION @schema@.emit(
  aggregate_type text,
  aggregate_id   anycompatiblenonarray,
  event_type     text,
  payload        @payload_text@,
  headers        text DEFAULT NULL,
  available_at   timestamptz DEFAULT NULL,
  id             uuid DEFAULT NULL
) RETURNS uuid LANGUAGE plpgsql AS $outboxd$
DECLARE
  event_id CONSTANT pg_catalog.uuid := coalesce(emit.id, pg_catalog.gen_random_uuid());
BEGIN
  INSERT INTO @schema@.event (id, aggregate_type, aggregate_id, event_type, payload, headers, available_at)
  VALUES (event_id, emit.aggregate_type, emit.aggregate_id::pg_catalog.text, emit.event_type,
          emit.payload::pg_catalog.@payload_type@,
          coalesce(emit.headers::pg_catalog.jsonb, '{}'), coalesce(emit.available_at, pg_catalog.now()));
  RETURN event_id;
END
$outboxd$;

CREATE OR REPLACE FUNCTION @schema@.emit(
  aggregate_type text,
  aggregate_id   anycompatiblenonarray,
  event_type     text,
  payload        @payload_text@,
  headers        json,
  available_at   timestamptz DEFAULT NULL,
  id             uuid DEFAULT NULL
) RETURNS uuid LANGUAGE plpgsql AS $outboxd$
DECLARE
  event_id CONSTANT pg_catalog.uuid := coalesce(emit.id, pg_catalog.gen_random_uuid());
BEGIN
  INSERT INTO @schema@.event (id, aggregate_type, aggregate_id, event_type, payload, headers, available_at)
  VALUES (event_id, emit.aggregate_type, emit.aggregate_id::pg_catalog.text, emit.event_type,
          emit.payload::pg_catalog.@payload_type@,
          coalesce(emit.headers::pg_catalog.jsonb, '{}'), coalesce(emit.available_at, pg_catalog.now()));
  RETURN event_id;
END
$outboxd$;

CREATE OR REPLACE FUNCTION @schema@.emit(
  aggregate_type text,
  aggregate_id   anycompatiblenonarray,
  event_type     text,
  payload        @payload_text@,
  headers        jsonb,
  available_at   timestamptz DEFAULT NULL,
  id             uuid DEFAULT NULL
) RETURNS uuid LANGUAGE plpgsql AS $outboxd$
DECLARE
  event_id CONSTANT pg_catalog.uuid := coalesce(emit.id, pg_catalog.gen_random_uuid());
BEGIN
  INSERT INTO @schema@.event (id, aggregate_type, aggregate_id, event_type, payload, headers, available_at)
  VALUES (event_id, emit.aggregate_type, emit.aggregate_id::pg_catalog.text, emit.event_type,
          emit.payload::pg_catalog.@payload_type@,
          coalesce(emit.headers, '{}'), coalesce(emit.available_at, pg_catalog.now()));
  RETURN event_id;
END
$outboxd$;
