-- Since when an event has been failing, and which destination it waits for. All of it is null in an event that
-- goes out at its first attempt.
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
