-- Since when an event has been failing, and which destination it waits for. All of it is null in an event
-- that goes out at its first attempt.
ALTER TABLE @schema@.event ADD COLUMN IF NOT EXISTS first_failed_at timestamptz;
ALTER TABLE @schema@.event ADD COLUMN IF NOT EXISTS waits_for bigint;
ALTER TABLE @schema@.event ADD COLUMN IF NOT EXISTS failed_exchange text;
ALTER TABLE @schema@.event ADD COLUMN IF NOT EXISTS failed_routing_key text;
COMMENT ON COLUMN @schema@.event.first_failed_at IS
  'When the event first failed; null: it has not failed since it was inserted, published or retried.';
COMMENT ON COLUMN @schema@.event.waits_for IS
  'Internal: the destination that the event waits for, as a hash of its exchange and routing key.';
COMMENT ON COLUMN @schema@.event.failed_exchange IS 'The exchange that did not take the event.';
COMMENT ON COLUMN @schema@.event.failed_routing_key IS 'The routing key with which it was not taken.';

-- What waits for a destination. A mark of an ordinary event changes none of these columns.
CREATE INDEX event_waits ON @schema@.event (waits_for, seq)
  WHERE exception = 'backing_off' AND waits_for IS NOT NULL;

-- The same as 0007_operator says, for an outbox that was made before it said this: migrate brings functions
-- up to date, and leaves constraints as they are. The functions dropped here have other arguments now.
ALTER TABLE @schema@.pause
  DROP CONSTRAINT pause_part_known,
  DROP CONSTRAINT pause_name_of_type,
  ADD CONSTRAINT pause_part_known CHECK (part IN (
    'everything', 'event_type', 'aggregate_type', 'exchange', 'routing_key')),
  ADD CONSTRAINT pause_name_of_type CHECK (
    CASE part WHEN 'everything' THEN name = '' ELSE name <> '' OR part IN ('exchange', 'routing_key') END);
DROP FUNCTION IF EXISTS @schema@.pause(text[], text[], boolean, timestamptz, text);
DROP FUNCTION IF EXISTS @schema@.resume(text[], text[], boolean, text);
DROP FUNCTION IF EXISTS @schema@.pause_words(text[], text[], boolean);
DROP FUNCTION IF EXISTS @schema@.pause_parts(text[], text[], boolean);
DROP FUNCTION IF EXISTS @schema@.events_edit(
  uuid[], @payload_type@, jsonb, text, text, text, boolean, bigint, bigint[]);
