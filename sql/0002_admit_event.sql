-- What happens to each event that is inserted: checks, the transaction, the hash, and the doorbell. And what
-- the leader does to be rung for. `migrate --shards` and `--notify` put this file in again with other values.

-- Refuses (23514, check_violation) what no event may be like. As CHECK constraints these conditions would
-- cost a writer six times as much: PostgreSQL parses those anew for every statement.
--
-- Object mappers send a null for what is not set. In id, headers and available_at it means the default.
-- Anywhere else the column itself refuses it (23502); the hash is never null, or the message would name that.
--
-- The hash has to stay the same when the server is upgraded: PostgreSQL keeps this one for the sake of
-- hash-partitioned tables.
--
-- The doorbell: a commit that carries a NOTIFY takes a lock of the whole cluster and holds it through its
-- flush. So it is sent only when the shard's leader sleeps. A leader that sleeps holds the advisory lock
-- SLEEP (key 2 is 64 + shard) exclusively. Who gets it shared says nothing, and keeps it until its commit is
-- visible: a leader that goes to sleep gets the lock after that, and then reads once more. Rolled back to a
-- savepoint, a writer loses the lock that it took since then with the events that it wrote.
--
-- A NOTIFY fails with its commit when the queue that all databases of the server share is full, and no
-- handler can catch that. A leader wakes up long before. It may hang, so a writer does not ring when half of
-- the queue is full.
--
-- It runs with the rights and the search_path of whoever inserts, so everything is named with its schema:
-- anybody's operator could be called otherwise. (SET search_path would do it, too, and cost each INSERT more
-- than all of this.)
CREATE OR REPLACE FUNCTION @schema@.admit_event() RETURNS trigger LANGUAGE plpgsql AS $outboxd$
DECLARE
  empty pg_catalog.text;
  shard integer;
BEGIN
  IF NEW.aggregate_type OPERATOR(pg_catalog.=) '' OR NEW.aggregate_id OPERATOR(pg_catalog.=) ''
     OR NEW.event_type OPERATOR(pg_catalog.=) '' THEN
    empty := CASE WHEN NEW.aggregate_type OPERATOR(pg_catalog.=) '' THEN 'aggregate_type'
             WHEN NEW.aggregate_id OPERATOR(pg_catalog.=) '' THEN 'aggregate_id' ELSE 'event_type' END;
    RAISE check_violation USING
      MESSAGE = pg_catalog.format('the %s of an event is empty', empty),
      SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = empty,
      CONSTRAINT = pg_catalog.format('event_%s_not_empty', empty);
  END IF;
  IF (pg_catalog.jsonb_typeof(NEW.headers) OPERATOR(pg_catalog.=) 'object') IS NOT TRUE
     OR NEW.available_at IS NULL OR NEW.id IS NULL THEN
    IF pg_catalog.jsonb_typeof(NEW.headers) OPERATOR(pg_catalog.<>) 'object' THEN
      RAISE check_violation USING
        MESSAGE = pg_catalog.format('the headers of an event are a JSON object, such as {"tenant": "a"},'
                                    ' but here of type %s', pg_catalog.jsonb_typeof(NEW.headers)),
        SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'headers',
        CONSTRAINT = 'event_headers_object';
    END IF;
    NEW.headers := coalesce(NEW.headers, '{}');
    NEW.available_at := coalesce(NEW.available_at, pg_catalog.now());
    NEW.id := coalesce(NEW.id, pg_catalog.gen_random_uuid());
  END IF;
  IF NEW.attempts OPERATOR(pg_catalog.<) 0
     OR NEW.seq OPERATOR(pg_catalog.=) '-9223372036854775808'::pg_catalog.int8 THEN
    IF NEW.seq OPERATOR(pg_catalog.=) '-9223372036854775808'::pg_catalog.int8 THEN
      RAISE check_violation USING
        MESSAGE = pg_catalog.format('the seq of an event is above %s: a relay reads from there', NEW.seq),
        SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'seq',
        CONSTRAINT = 'event_seq_not_lowest';
    END IF;
    RAISE check_violation USING
      MESSAGE = pg_catalog.format('the attempts of an event are a count: %s is below 0', NEW.attempts),
      SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'attempts',
      CONSTRAINT = 'event_attempts_not_negative';
  END IF;
  NEW.tx := pg_catalog.pg_current_xact_id();
  NEW.hash := coalesce(pg_catalog.hashtextextended(
    NEW.aggregate_id COLLATE pg_catalog."C",
    pg_catalog.hashtextextended(NEW.aggregate_type COLLATE pg_catalog."C", 0)), 0);
  IF NEW.status OPERATOR(pg_catalog.=) 'pending' OR NEW.status OPERATOR(pg_catalog.=) 'waiting' THEN
    NEW.status := 'pending';
    NEW.exception := NULL;
    NEW.published_at := NULL;
    IF NEW.available_at OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp() THEN
      NEW.status := 'waiting';
      NEW.exception := 'scheduled';
    END IF;
  ELSE
    NEW.exception := CASE WHEN NEW.status OPERATOR(pg_catalog.=) 'dead' THEN 'dead' END;
    NEW.published_at := CASE WHEN NEW.status OPERATOR(pg_catalog.=) 'published'
                        THEN coalesce(NEW.published_at, pg_catalog.clock_timestamp()) END;
  END IF;
  IF @notifies@ THEN
    shard := (NEW.hash OPERATOR(pg_catalog.&) (@shards@ OPERATOR(pg_catalog.-) 1))::integer;
    IF NOT pg_catalog.pg_try_advisory_xact_lock_shared(@lock_class@, 64 OPERATOR(pg_catalog.+) shard)
       AND coalesce(pg_catalog.current_setting('outbox.notify', true), '') OPERATOR(pg_catalog.<>) 'off'
       AND pg_catalog.pg_notification_queue_usage() OPERATOR(pg_catalog.<) 0.5 THEN
      PERFORM pg_catalog.pg_notify(@schema_text@, shard::pg_catalog.text);
    END IF;
  END IF;
  RETURN NEW;
END
$outboxd$;

-- Makes rows of shards that are gone, and returns how many: `migrate` has made one for each, but a cleaner of
-- test data or a restore of some tables may have taken them. A new row knows nothing, so its leader reads
-- from the start. For the relay.
CREATE OR REPLACE FUNCTION @schema@.mend_shards() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $outboxd$
DECLARE
  made bigint := 0;
BEGIN
  PERFORM @schema@.require_role('outbox_relay');
  IF (SELECT count(*) FROM @schema@.shard) < @shards@ THEN
    INSERT INTO @schema@.shard (shard, rings)
    SELECT s, @notifies@ FROM generate_series(0, @shards@ - 1) AS s
    ON CONFLICT (shard) DO NOTHING;
    GET DIAGNOSTICS made = ROW_COUNT;
  END IF;
  RETURN made;
END
$outboxd$;

-- The leader's half of the doorbell, on a session of its own: waits for SLEEP, and tells whether the session
-- has it now. While it waits writers ring, however many they are, so it does not wait for long. To raise an
-- error would be a line in the server's log each time that a silent writer stays open.
CREATE OR REPLACE FUNCTION @schema@.take_sleep(shard integer) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '250ms' AS $outboxd$
BEGIN
  -- A lock of a session stays if it is granted at the very moment in which the time is up; this one does not.
  PERFORM pg_advisory_xact_lock(@lock_class@, 64 + shard);
  PERFORM pg_advisory_lock(@lock_class@, 64 + shard);
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END
$outboxd$;
