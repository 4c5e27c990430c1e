-- Three roles to grant to your own users. None can log in. Roles belong to the whole cluster, so they may
-- exist already.

DO $outboxd$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['outbox_writer', 'outbox_relay', 'outbox_operator'] LOOP
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = name) THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN', name);
      EXCEPTION WHEN duplicate_object OR unique_violation THEN
        NULL;  -- another migration of this cluster was faster
      END;
    END IF;
  END LOOP;
END
$outboxd$;

-- Only our own functions: the schema may be shared with the application's.
REVOKE ALL ON FUNCTION
  @schema@.emit(text, text, text, @payload_type@, jsonb, timestamptz, uuid),
  @schema@.admit_event(), @schema@.take_sleep(integer), @schema@.keep_place(), @schema@.agree_on_status()
  FROM PUBLIC;
GRANT SELECT ON @schema@.migration TO outbox_relay, outbox_operator;
GRANT USAGE ON SCHEMA @schema@ TO outbox_writer, outbox_relay, outbox_operator;

-- Producers: the columns that are theirs to set, and emit. To read only what INSERT ... RETURNING of an ORM
-- asks for: other applications' payloads are in the table.
GRANT INSERT (id, aggregate_type, aggregate_id, event_type, payload, headers, exchange, routing_key,
              available_at)
  ON @schema@.event TO outbox_writer;
GRANT SELECT (id, seq) ON @schema@.event TO outbox_writer;
GRANT EXECUTE ON FUNCTION @schema@.emit(text, text, text, @payload_type@, jsonb, timestamptz, uuid)
  TO outbox_writer;

-- The daemon.
GRANT SELECT, DELETE ON @schema@.event TO outbox_relay;
GRANT UPDATE (status, attempts, deferrals, available_at, published_at, last_error, last_error_code, exception)
  ON @schema@.event TO outbox_relay;
GRANT SELECT, UPDATE ON @schema@.shard TO outbox_relay;
GRANT EXECUTE ON FUNCTION @schema@.take_sleep(integer) TO outbox_relay;

-- People who look after it: read, retry, discard, replay, prune.
GRANT SELECT, DELETE ON @schema@.event TO outbox_operator;
GRANT SELECT ON @schema@.shard TO outbox_operator;
GRANT UPDATE (status, attempts, deferrals, available_at, published_at, last_error, last_error_code)
  ON @schema@.event TO outbox_operator;
