-- Three roles to grant to your own users. None can log in. Roles belong to the whole cluster, so they may exist already.

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
  @schema@.admit_event(), @schema@.set_aside(), @schema@.ring_doorbell(), @schema@.forget_floor(),
  @schema@.take_shards(integer, bigint[], bigint, bigint, bigint), @schema@.claimed(integer, bigint),
  @schema@.nothing_aside(), @schema@.claimed_in_bulk(integer, bigint),
  @schema@.claim_few(integer, bigint, bigint[], bigint, bigint),
  @schema@.mark_published(uuid[], tid[]), @schema@.delete_published(uuid[], tid[]),
  @schema@.sweep(integer, bigint[], bigint, bigint, text[], bigint, bigint[]), @schema@.settle(bigint, bigint, text[]),
  @schema@.release_orphans(integer),
  @schema@.mute(), @schema@.silence_is_over()
  FROM PUBLIC;
GRANT SELECT ON @schema@.migration TO outbox_relay, outbox_operator;
GRANT USAGE ON SCHEMA @schema@ TO outbox_writer, outbox_relay, outbox_operator;

-- Producers: the columns that are theirs to set, and emit. Not to read: other applications' payloads are in the table.
GRANT INSERT (id, aggregate_type, aggregate_id, event_type, payload, headers, exchange, routing_key, available_at)
  ON @schema@.event TO outbox_writer;
GRANT EXECUTE ON FUNCTION @schema@.emit(text, text, text, @payload_type@, jsonb, timestamptz, uuid) TO outbox_writer;

-- The daemon.
GRANT SELECT, DELETE ON @schema@.event TO outbox_relay;
GRANT SELECT ON @schema@.event_seq TO outbox_relay;
GRANT SELECT, UPDATE ON @schema@.claim_floor TO outbox_relay;
GRANT UPDATE (status, attempts, nacks, available_at, published_at, last_error, behind, aside)
  ON @schema@.event TO outbox_relay;
GRANT EXECUTE ON FUNCTION
  @schema@.take_shards(integer, bigint[], bigint, bigint, bigint), @schema@.claimed(integer, bigint),
  @schema@.nothing_aside(), @schema@.claimed_in_bulk(integer, bigint),
  @schema@.claim_few(integer, bigint, bigint[], bigint, bigint),
  @schema@.mark_published(uuid[], tid[]), @schema@.delete_published(uuid[], tid[]),
  @schema@.sweep(integer, bigint[], bigint, bigint, text[], bigint, bigint[]), @schema@.settle(bigint, bigint, text[]),
  @schema@.release_orphans(integer), @schema@.mute(), @schema@.silence_is_over() TO outbox_relay;

-- People who look after it: read, retry, discard, replay, prune.
GRANT SELECT, DELETE ON @schema@.event TO outbox_operator;
GRANT UPDATE (status, attempts, nacks, available_at, published_at, last_error, behind, aside)
  ON @schema@.event TO outbox_operator;
