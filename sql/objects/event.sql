-- Objects that must exist before the table of events is created.

CREATE TYPE @schema@.event_status AS ENUM ('pending', 'waiting', 'published', 'dead');

-- Why an event departed from the normal path from pending to published.
CREATE TYPE @schema@.event_exception AS ENUM (
  'scheduled',    -- waiting until available_at; blocks no other events
  'backing_off',  -- waiting until available_at after a failure; blocks later events of its aggregate
  'parked',       -- waiting behind an earlier event of its aggregate; has no due time of its own
  'dead');

-- Rejects (23514, check_violation) invalid events, and gives the reason. Called only by the constraint
-- event_refused.
CREATE OR REPLACE FUNCTION @schema@.refuse(
  aggregate_type text, aggregate_id text, event_type text, headers jsonb, attempts integer, seq bigint
) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $outboxd$
DECLARE
  empty CONSTANT pg_catalog.text := CASE WHEN aggregate_type OPERATOR(pg_catalog.=) '' THEN 'aggregate_type'
                                    WHEN aggregate_id OPERATOR(pg_catalog.=) '' THEN 'aggregate_id'
                                    WHEN event_type OPERATOR(pg_catalog.=) '' THEN 'event_type' END;
BEGIN
  IF empty IS NOT NULL THEN
    RAISE check_violation USING
      MESSAGE = pg_catalog.format('the %s of an event is empty', empty),
      SCHEMA = @schema_text@, TABLE = 'event', COLUMN = empty,
      CONSTRAINT = pg_catalog.format('event_%s_not_empty', empty);
  ELSIF pg_catalog.jsonb_typeof(headers) OPERATOR(pg_catalog.<>) 'object' THEN
    RAISE check_violation USING
      MESSAGE = pg_catalog.format('the headers of an event are a JSON object, such as {"tenant": "a"},'
                                  ' but here of type %s', pg_catalog.jsonb_typeof(headers)),
      SCHEMA = @schema_text@, TABLE = 'event', COLUMN = 'headers', CONSTRAINT = 'event_headers_object';
  ELSIF attempts OPERATOR(pg_catalog.<) 0 THEN
    RAISE check_violation USING
      MESSAGE = pg_catalog.format('the attempts of an event are a count: %s is below 0', attempts),
      SCHEMA = @schema_text@, TABLE = 'event', COLUMN = 'attempts',
      CONSTRAINT = 'event_attempts_not_negative';
  END IF;
  RAISE check_violation USING
    MESSAGE = pg_catalog.format('the seq of an event is above %s: a relay reads from there', seq),
    SCHEMA = @schema_text@, TABLE = 'event', COLUMN = 'seq', CONSTRAINT = 'event_seq_not_lowest';
END
$outboxd$;
