-- The doorbell: how writers notify an idle leader, and how a leader asks them to. `migrate --shards` and
-- `--notify` apply this file again with other values.

-- The writers' half of the doorbell. A commit with a NOTIFY takes a lock that the whole cluster shares, and
-- holds it until its WAL is flushed. So a writer notifies only while a leader is idle. An idle leader holds
-- the advisory lock SLEEP of its shard (key 2 is 64 + shard) exclusively. A writer that can take all of these
-- locks in share mode sends nothing. The writer keeps the locks until its commit is visible, so a leader that
-- becomes idle gets its own lock after that, and then reads once more. A writer that rolls back to a
-- savepoint loses the locks taken since then, together with the events that it wrote.
--
-- A column default cannot read other columns, so it does not know the shard of its row. Therefore a writer
-- takes the locks of all shards, and a notification is for all leaders. The default of tx tries to take the
-- locks. The default calls this function if a lock is not available. Returns the value of tx.
--
-- If the queue that all databases of the server share is full, NOTIFY fails the commit, and no exception
-- handler can catch that. A leader wakes up long before the queue is full. But a leader may hang, so a writer
-- does not notify if the queue is more than half full.
--
-- Runs with the privileges and the search_path of the inserting user. Every name is qualified with its
-- schema, because a user's operator could have the same name.
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

-- Sets tx for rows of logical replication, and of sessions with session_replication_role = replica. Such rows
-- have the tx of their origin, and the default is not evaluated. The trigger that calls this function fires
-- only for them, and costs other writers nothing.
CREATE OR REPLACE FUNCTION @schema@.take_over() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $outboxd$
BEGIN
  NEW.tx := @bell@;
  RETURN NEW;
END
$outboxd$;

-- Creates missing rows of shards, and returns how many. `migrate` has created a row for each shard, but
-- deleting test data or restoring only some tables may have removed it. A new row has no position, so its
-- leader reads from the start. Used by the relay.
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

-- The leader's half of the doorbell, on a separate session: waits for SLEEP, and returns whether the session
-- has it now. While the leader waits, writers notify, whatever their number, so the wait is short. Returns
-- false instead of raising an error, because an error would add a line to the server's log each time a writer
-- that does not notify keeps its transaction open.
CREATE OR REPLACE FUNCTION @schema@.take_sleep(shard integer) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '250ms' AS $outboxd$
BEGIN
  -- A lock of a session stays if it is granted at the very moment in which the time is up; this one does not.
  PERFORM pg_advisory_xact_lock(@lock_class@, @sleep_key@ + shard);
  PERFORM pg_advisory_lock(@lock_class@, @sleep_key@ + shard);
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END
$outboxd$;
