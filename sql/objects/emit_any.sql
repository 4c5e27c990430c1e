-- emit for any other payload type. Not created if the payload is bytea.
CREATE OR REPLACE FUNCTION @schema@.emit(
  aggregate_type text,
  aggregate_id   anycompatiblenonarray,
  event_type     text,
  payload        anyelement,
  headers        text DEFAULT NULL,
  available_at   timestamptz DEFAULT NULL,
  id             uuid DEFAULT NULL
) RETURNS uuid LANGUAGE plpgsql AS $outboxd$
DECLARE
  event_id CONSTANT pg_catalog.uuid := coalesce(emit.id, pg_catalog.gen_random_uuid());
BEGIN
  INSERT INTO @schema@.event (id, aggregate_type, aggregate_id, event_type, payload, headers, available_at)
  VALUES (event_id, emit.aggregate_type, emit.aggregate_id::pg_catalog.text, emit.event_type,
          @payload_of_any@,
          coalesce(emit.headers::pg_catalog.jsonb, '{}'), coalesce(emit.available_at, pg_catalog.now()));
  RETURN event_id;
END
$outboxd$;

CREATE OR REPLACE FUNCTION @schema@.emit(
  aggregate_type text,
  aggregate_id   anycompatiblenonarray,
  event_type     text,
  payload        anyelement,
  headers        json,
  available_at   timestamptz DEFAULT NULL,
  id             uuid DEFAULT NULL
) RETURNS uuid LANGUAGE plpgsql AS $outboxd$
DECLARE
  event_id CONSTANT pg_catalog.uuid := coalesce(emit.id, pg_catalog.gen_random_uuid());
BEGIN
  INSERT INTO @schema@.event (id, aggregate_type, aggregate_id, event_type, payload, headers, available_at)
  VALUES (event_id, emit.aggregate_type, emit.aggregate_id::pg_catalog.text, emit.event_type,
          @payload_of_any@,
          coalesce(emit.headers::pg_catalog.jsonb, '{}'), coalesce(emit.available_at, pg_catalog.now()));
  RETURN event_id;
END
$outboxd$;

CREATE OR REPLACE FUNCTION @schema@.emit(
  aggregate_type text,
  aggregate_id   anycompatiblenonarray,
  event_type     text,
  payload        anyelement,
  headers        jsonb,
  available_at   timestamptz DEFAULT NULL,
  id             uuid DEFAULT NULL
) RETURNS uuid LANGUAGE plpgsql AS $outboxd$
DECLARE
  event_id CONSTANT pg_catalog.uuid := coalesce(emit.id, pg_catalog.gen_random_uuid());
BEGIN
  INSERT INTO @schema@.event (id, aggregate_type, aggregate_id, event_type, payload, headers, available_at)
  VALUES (event_id, emit.aggregate_type, emit.aggregate_id::pg_catalog.text, emit.event_type,
          @payload_of_any@,
          coalesce(emit.headers, '{}'), coalesce(emit.available_at, pg_catalog.now()));
  RETURN event_id;
END
$outboxd$;
