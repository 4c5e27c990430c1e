-- The outbox table: one row is one event.
--
-- Words between at-signs are placeholders that `outboxd migrate` fills in: schema (a quoted identifier), schema_text (a
-- string literal), payload_type, and payload_octets (the type whose octet_length is the payload's size).

CREATE TYPE @schema@.event_status AS ENUM ('pending', 'waiting', 'published', 'dead');

-- Columns of a fixed length come first: PostgreSQL goes through all that stands before a column to find it, and an UPDATE looks
-- at each indexed one. What a mark changes stands together, so that WAL has only that of the row. It saves a twelfth of a
-- claim and of a mark.
CREATE TABLE @schema@.event (
  id              uuid           NOT NULL DEFAULT gen_random_uuid(),
  seq             bigint         NOT NULL GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME @schema@.event_seq),
  available_at    timestamptz    NOT NULL DEFAULT now(),
  created_at      timestamptz    NOT NULL DEFAULT now(),
  attempts        integer        NOT NULL DEFAULT 0,
  -- One of 64, by a hash of the aggregate. A shard is what a lane claims, so an aggregate may never be in two shards:
  -- the hash has to stay the same when the server is upgraded. PostgreSQL keeps this one for the sake of hash-partitioned
  -- tables.
  shard           smallint       NOT NULL GENERATED ALWAYS AS (
    (hashtextextended(aggregate_id COLLATE "C", hashtextextended(aggregate_type COLLATE "C", 0)) & 63)::smallint) STORED,
  -- How often the broker had no room for the event; such refusals are no failed attempts, but the pauses grow.
  nacks           smallint       NOT NULL DEFAULT 0,
  status          @schema@.event_status NOT NULL DEFAULT 'pending',
  published_at    timestamptz,
  aggregate_type  text           NOT NULL,
  aggregate_id    text           NOT NULL,
  event_type      text           NOT NULL,
  payload         @payload_type@ NOT NULL,
  headers         jsonb          NOT NULL DEFAULT '{}',
  exchange        text,
  routing_key     text,
  last_error      text,
  -- The head of the queue that a waiting event stands in: the seq of an earlier waiting event of its aggregate.
  -- Null: not in a queue; a waiting event then becomes pending at available_at.
  behind          bigint,
  -- Null as long as the event goes the straight way, from pending to published; else a copy of the status: waiting, dead, or
  -- pending again. Such events are few, and have indexes of their own. No index depends on the status itself: so an UPDATE
  -- that marks an event published changes nothing that is indexed, and PostgreSQL writes the new row version into the same
  -- page and touches no index (a HOT update), which costs a third. See also admit_event and set_aside.
  aside           @schema@.event_status,

  CONSTRAINT event_pkey PRIMARY KEY (id)  -- more is checked by a trigger, see admit_event
)
-- Room in each page for a mark of each of its rows. Several lanes often mark rows of one page within some milliseconds, and until
-- a later claim or vacuum has cleared away what they have left behind, that room is all they have. A mark without it has to
-- enter its row into the indexes again, for three times the price: with 70 that was every third in a rush.
WITH (fillfactor = 50);

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
COMMENT ON COLUMN @schema@.event.aside IS 'Internal: the status of an event that has left the straight way from pending to published.';
COMMENT ON COLUMN @schema@.event.shard IS 'Internal: what a relay claims; a hash of the aggregate.';

-- What a claim reads, from the floor of a shard on, below which all is finished: see claim_floor in the relay's part.
CREATE INDEX event_order ON @schema@.event (shard, seq);

-- What is pending again, wherever the floor is. Only a query that asks in the words of this index and the following ones can
-- use them: on an empty table the planner would take them for each other, and keep to that.
CREATE INDEX event_returned ON @schema@.event ((shard + 0), seq) WHERE aside = 'pending';

-- While there is little to do, a claim looks at the youngest events of all shards at once instead.
CREATE INDEX event_young ON @schema@.event ((seq + 0));

-- Is an earlier event of this aggregate waiting? A number compares faster than names, and an index entry is at most 2.7 kB
-- long, which names are not.
CREATE INDEX event_waiting ON @schema@.event (
  hashtextextended(aggregate_id COLLATE "C", hashtextextended(aggregate_type COLLATE "C", 0)), seq)
  WHERE aside = 'waiting';

-- Which waiting events are due? Those behind another are not listed: they become pending with its end.
CREATE INDEX event_due ON @schema@.event (available_at) WHERE aside = 'waiting' AND behind IS NULL;

-- Which events wait behind this one, and are there any in this shard?
CREATE INDEX event_behind ON @schema@.event ((shard + 0), behind) WHERE behind IS NOT NULL;

-- Finished rows pile up at the old end; the table's own dead rows should go before the default 20 % are dead.
ALTER TABLE @schema@.event SET (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
