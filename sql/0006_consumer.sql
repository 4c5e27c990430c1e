-- The consumers' side: an effect once, however often its event is delivered.

CREATE TABLE @schema@.processed_event (
  consumer_name  text        NOT NULL,
  event_id       uuid        NOT NULL,
  processed_at   timestamptz NOT NULL DEFAULT now(),

  CONSTRAINT processed_event_pkey PRIMARY KEY (consumer_name, event_id),
  CONSTRAINT processed_event_consumer_name_not_empty CHECK (consumer_name <> '')
);

COMMENT ON TABLE @schema@.processed_event IS 'What consumers have processed: see first_time.';

-- What pruning by age reads.
CREATE INDEX processed_event_age ON @schema@.processed_event (processed_at);

-- True if this consumer has not processed this event yet; then it is recorded, in the caller's transaction. A
-- consumer calls it in the transaction that applies the event's effect, and applies the effect only if it is
-- true. Whatever rolls the effect back takes the record with it, so true is returned in exactly one
-- transaction that commits.
--
-- While another transaction that got true is still open, the call waits for its end: false if it commits,
-- true if it rolls back. That is READ COMMITTED. In REPEATABLE READ and SERIALIZABLE, where the caller's
-- snapshot may be older than the other's commit, the call fails with 40001 instead of returning false, and
-- the transaction has to be run again, as these levels ask for anyway.
--
-- It runs with the caller's own rights, which need no more than the INSERT: see docs/consuming.md.
CREATE FUNCTION @schema@.first_time(consumer_name text, event_id uuid) RETURNS boolean
LANGUAGE plpgsql AS $outboxd$
BEGIN
  INSERT INTO @schema@.processed_event (consumer_name, event_id)
  VALUES (first_time.consumer_name, first_time.event_id)
  ON CONFLICT DO NOTHING;
  RETURN FOUND;
END
$outboxd$;

REVOKE ALL ON FUNCTION @schema@.first_time(text, uuid) FROM PUBLIC;
GRANT SELECT, DELETE ON @schema@.processed_event TO outbox_operator;
