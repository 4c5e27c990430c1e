-- The outbox table: one row is one event.
--
-- Words between at-signs are placeholders that `outboxd migrate` fills in: schema (a quoted identifier), schema_text (a
-- string literal), payload_type, and payload_octets (the type whose octet_length is the payload's size).

CREATE TYPE @schema@.event_status AS ENUM ('pending', 'waiting', 'published', 'dead');

CREATE TABLE @schema@.event (
  id              uuid           NOT NULL DEFAULT gen_random_uuid(),
  seq             bigint         NOT NULL GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME @schema@.event_seq),
  aggregate_type  text           NOT NULL,
  aggregate_id    text           NOT NULL,
  event_type      text           NOT NULL,
  payload         @payload_type@ NOT NULL,
  headers         jsonb          NOT NULL DEFAULT '{}',
  exchange        text,
  routing_key     text,
  status          @schema@.event_status NOT NULL DEFAULT 'pending',
  attempts        integer        NOT NULL DEFAULT 0,
  available_at    timestamptz    NOT NULL DEFAULT now(),
  created_at      timestamptz    NOT NULL DEFAULT now(),
  published_at    timestamptz,
  last_error      text,
  -- How often the broker had no room for the event; such refusals are no failed attempts, but the pauses grow.
  nacks           smallint       NOT NULL DEFAULT 0,
  -- The head of the queue that a waiting event stands in: the seq of an earlier waiting event of its aggregate.
  -- Null: not in a queue; a waiting event then becomes pending at available_at.
  behind          bigint,
  -- It has been waiting, dead or published before and became pending again. Such events are few: a claim finds them through
  -- an index of their own, so that it need not look at the old end of the other one, see claimed.
  returned        boolean        NOT NULL DEFAULT false,
  -- One of 64, by a hash of the aggregate. A shard is what a lane claims, so an aggregate may never be in two shards:
  -- the hash has to stay the same when the server is upgraded. PostgreSQL keeps this one for the sake of hash-partitioned
  -- tables.
  shard           smallint       NOT NULL GENERATED ALWAYS AS (
    (hashtextextended(aggregate_id COLLATE "C", hashtextextended(aggregate_type COLLATE "C", 0)) & 63)::smallint) STORED,

  CONSTRAINT event_pkey PRIMARY KEY (id)  -- more is checked by a trigger, see admit_event
);

COMMENT ON TABLE @schema@.event IS 'Transactional outbox: insert an event in the transaction that it tells about; outboxd publishes it.';
COMMENT ON COLUMN @schema@.event.id IS 'The message_id, and the key that consumers deduplicate on.';
COMMENT ON COLUMN @schema@.event.seq IS 'The order of events, assigned by the database.';
COMMENT ON COLUMN @schema@.event.exchange IS 'Null: from routing.';
COMMENT ON COLUMN @schema@.event.routing_key IS 'Null: from routing.';
COMMENT ON COLUMN @schema@.event.attempts IS 'Failed attempts so far.';
COMMENT ON COLUMN @schema@.event.available_at IS 'Not to be published before.';
COMMENT ON COLUMN @schema@.event.last_error IS 'The reason of the latest failure.';
COMMENT ON COLUMN @schema@.event.nacks IS 'Internal: how often the broker had no room for it.';
COMMENT ON COLUMN @schema@.event.behind IS 'Internal: the seq of the waiting event of the same aggregate that this one waits for.';
COMMENT ON COLUMN @schema@.event.returned IS 'Internal: became pending again. Who makes an event pending by hand sets it.';
COMMENT ON COLUMN @schema@.event.shard IS 'Internal: what a relay claims; a hash of the aggregate.';

-- What a claim reads: only events that may go out now.
CREATE INDEX event_pending ON @schema@.event (shard, seq) WHERE status = 'pending';
CREATE INDEX event_returned ON @schema@.event (shard, seq) WHERE status = 'pending' AND returned;

-- Is an earlier event of this aggregate waiting? A number compares faster than names, and an index entry is at most 2.7 kB
-- long, which names are not.
CREATE INDEX event_waiting ON @schema@.event (
  hashtextextended(aggregate_id COLLATE "C", hashtextextended(aggregate_type COLLATE "C", 0)), seq)
  WHERE status = 'waiting';

-- Are there events behind another in this shard? Only a query that asks in these words can use it: on an empty table the
-- planner would take it for others just as well, and keep to that.
CREATE INDEX event_followers ON @schema@.event (shard) WHERE (behind IS NOT NULL) IS TRUE;

-- Which waiting events are due? Those behind another are not listed: they become pending with its end.
CREATE INDEX event_due ON @schema@.event (available_at) WHERE status = 'waiting' AND behind IS NULL;

-- Which events wait behind this one?
CREATE INDEX event_behind ON @schema@.event (behind) WHERE behind IS NOT NULL;

-- Finished rows pile up at the old end; the table's own dead rows should go before the default 20 % are dead.
ALTER TABLE @schema@.event SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
