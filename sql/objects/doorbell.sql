-- The doorbell: how writers ring for a leader that sleeps, and what it does to be rung for. `migrate
-- --shards` and `--notify` put this file in again with other values.

-- The doorbell. A commit that carries a NOTIFY takes a lock of the whole cluster and holds it through its
-- flush. So a writer rings only while some leader sleeps: that one holds the advisory lock SLEEP of its shard
-- (key 2 is 64 + shard) exclusively. Who gets all of them shared says nothing, and keeps them until its
-- commit is visible: a leader that goes to sleep gets its lock after that, and then reads once more. Rolled
-- back to a savepoint, a writer loses the locks that it took since then with the events that it wrote.
--
-- A default sees no other column, so it does not know the shard of its row. Hence a writer takes the locks of
-- all shards, and a ring is for all leaders. This is the other half: for the writer who does not get them.
-- Returns what tx is.
--
-- A NOTIFY fails with its commit when the queue that all databases of the server share is full, and no
-- handler can catch that. A leader wakes up long before. It may hang, so a writer does not ring when half of
-- the queue is full.
--
-- It runs with the rights and the search_path of whoever inserts, so everything is named with its schema:
-- anybody's operator could be called otherwise.
CREATE OR REPLACE FUNCTION @schema@.ring() RETURNS xid8 LANGUAGE plpgsql AS $outboxd$
BEGIN
  IF @notifies@
     AND coalesce(pg_catalog.current_setting('outbox.notify', true), '') OPERATOR(pg_catalog.<>) 'off'
     AND pg_catalog.pg_notification_queue_usage() OPERATOR(pg_catalog.<) 0.5 THEN
    PERFORM pg_catalog.pg_notify(@schema_text@, 'ring');
  END IF;
  RETURN pg_catalog.pg_current_xact_id();
END
$outboxd$;

-- Rows of logical replication, and of sessions with session_replication_role = replica, bring the tx of their
-- origin: no default is asked. The trigger that calls this fires there alone, and costs nobody else anything.
CREATE OR REPLACE FUNCTION @schema@.take_over() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $outboxd$
BEGIN
  NEW.tx := @bell@;
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
