-- What of its destination the latest failure is about. A later leader knows by it what the event waits for:
-- the words of last_error are for people.
ALTER TABLE @schema@.event ADD COLUMN IF NOT EXISTS last_error_scope text;
COMMENT ON COLUMN @schema@.event.last_error_scope IS
  'Internal: of destination_down and not_sent: exchange, or topic (the right to write with its routing key); '
  'null: its exchange with its routing key.';
