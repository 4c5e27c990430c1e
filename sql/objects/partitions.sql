-- Partitions of the outbox, for users who enable them with `migrate --partition`. Unless partitions are
-- enabled, nothing in this file has any effect.
--
-- Each partition is a range of 2^32 seqs: partition k has the seqs from k << 32 on, and the first partition
-- also has all lower seqs. A period (a day, an hour) begins when the sequence is moved to the start of the
-- next partition, which has existed for a long time by then. So no INSERT ever fails because of a missing
-- partition: while no relay runs, rows go into the current partition. The last partition is number 2^31 - 2,
-- so that the start of the one after it also fits into a bigint.

-- Attached partitions, by name. A partition that somebody has detached, or attached under another name, is
-- left alone.
CREATE OR REPLACE FUNCTION @schema@.attached_partitions() RETURNS TABLE (number bigint, part regclass)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $outboxd$
  SELECT substring(c.relname FROM '^event_p([0-9]{1,10})$')::bigint, c.oid::regclass
  FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
  WHERE i.inhparent = format('%I.event', @schema_text@)::regclass AND NOT i.inhdetachpending
    AND c.relname ~ '^event_p[0-9]{1,10}$' AND c.relnamespace = (
      SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = @schema_text@);
$outboxd$;

-- Creates the table of a partition without attaching it. options: the storage parameters of an earlier
-- partition.
CREATE OR REPLACE FUNCTION @schema@.make_partition(which bigint, options text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $outboxd$
DECLARE
  part CONSTANT text := format('%I.%I', @schema_text@, 'event_p' || which);
BEGIN
  EXECUTE format('CREATE TABLE %s (LIKE %I.event INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED'
                 ' INCLUDING STORAGE INCLUDING COMPRESSION, CONSTRAINT %I PRIMARY KEY (id))%s',
                 part, @schema_text@, 'event_p' || which || '_pkey', ' WITH (' || nullif(options, '') || ')');
  -- An event trigger may enable it on every new table.
  EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', part);
  EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS event_in_first_partition', part);
  EXECUTE format('CREATE INDEX %I ON %s (seq)', 'event_p' || which || '_order', part);
  EXECUTE format('CREATE INDEX %I ON %s (tx)', 'event_p' || which || '_tx', part);
  EXECUTE format('CREATE INDEX %I ON %s (available_at, seq)'
                 ' WHERE exception IN (''scheduled'', ''backing_off'')',
                 'event_p' || which || '_due', part);
  EXECUTE format('CREATE INDEX %I ON %s (hashtextextended(aggregate_id COLLATE "C",'
                 ' hashtextextended(aggregate_type COLLATE "C", 0)), exception, seq)'
                 ' WHERE exception IN (''backing_off'', ''parked'')',
                 'event_p' || which || '_held', part);
  EXECUTE (SELECT format('CREATE INDEX %I ON %s (%s) WHERE %s', 'event_p' || which || '_refused', part,
                         pg_get_expr(i.indexprs, i.indrelid), pg_get_expr(i.indpred, i.indrelid))
           FROM pg_index AS i WHERE i.indexrelid = format('%I.event_refused', @schema_text@)::regclass);
  EXECUTE format('CREATE INDEX %I ON %s (exception, seq) WHERE exception >= ''dead''',
                 'event_p' || which || '_dead', part);
END
$outboxd$;

-- ATTACH takes a lock that allows reads and writes; CREATE TABLE ... PARTITION OF does not.
CREATE OR REPLACE FUNCTION @schema@.attach_partition(which bigint) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $outboxd$
BEGIN
  EXECUTE format('ALTER TABLE %I.event ATTACH PARTITION %I.%I FOR VALUES FROM (%s) TO (%s)',
                 @schema_text@, @schema_text@, 'event_p' || which, which << 32, (which + 1) << 32);
END
$outboxd$;

-- Returns the next seq of the sequence. Runs with the owner's privileges, because a user who checks for a
-- sequence that was set back may not be allowed to read it.
CREATE OR REPLACE FUNCTION @schema@.next_seq() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $outboxd$
DECLARE
  out bigint;
BEGIN
  EXECUTE format('SELECT least(last_value, 9223372036854775806) + is_called::integer FROM %s',
                 pg_get_serial_sequence(format('%I.event', @schema_text@), 'seq')) INTO out;
  RETURN out;
END
$outboxd$;

-- Called by the relay once a minute. Starts the next period when the current one is over, and creates
-- partitions so that two are always ready. Repairs a sequence that somebody has set back, or set to a value
-- without a partition. Returns what it did: 'began', 'made', 'mended'; and what it left alone: 'detached', a
-- partition that somebody has detached, and 'taken', a table event_p<number> that was never a partition. That
-- number is not used.
--
-- A period only begins in a partition that was created before this transaction, because other sessions could
-- not find it otherwise.
CREATE OR REPLACE FUNCTION @schema@.rotate_partition() RETURNS TABLE (what text, number bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET client_min_messages = warning
AS $outboxd$
#variable_conflict use_variable
DECLARE
  ahead    CONSTANT integer := 2;
  seq_name text;
  unit     text;
  current  bigint;
  latest   bigint;
  next     bigint;
  began    timestamptz;
  is_used  boolean;
  ready    integer;
  options  text;
  sample   regclass;
BEGIN
  PERFORM @schema@.require_role('outbox_relay');
  -- One at a time.
  SELECT CASE p.period WHEN 'hourly' THEN 'hour' ELSE 'day' END INTO unit
  FROM @schema@.partitioning AS p FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  seq_name := pg_get_serial_sequence(format('%I.event', @schema_text@), 'seq');
  current := @schema@.next_seq() >> 32;
  latest := (SELECT max(p.number) FROM @schema@.event_partition AS p
             JOIN @schema@.attached_partitions() AS a ON a.number = p.number
             WHERE p.began_at IS NOT NULL);
  IF latest IS NULL THEN
    latest := (SELECT min(a.number) FROM @schema@.attached_partitions() AS a);
  END IF;
  IF latest IS NULL THEN
    latest := current;  -- none is left: one is made
  ELSIF current < latest
        OR NOT EXISTS (SELECT FROM @schema@.attached_partitions() AS a WHERE a.number = current) THEN
    PERFORM setval(seq_name, coalesce((SELECT greatest(e.seq + 1, latest << 32) FROM @schema@.event AS e
                                       WHERE e.seq < least(latest + 1, 2147483647) << 32
                                       ORDER BY e.seq DESC LIMIT 1), latest << 32), false);
    current := latest;
    what := 'mended';
    number := latest;
    RETURN NEXT;
  END IF;

  DELETE FROM @schema@.event_partition AS p
  WHERE to_regclass(format('%I.%I', @schema_text@, 'event_p' || p.number)) IS NULL;
  FOR number IN
    SELECT p.number FROM @schema@.event_partition AS p
    WHERE NOT EXISTS (SELECT FROM @schema@.attached_partitions() AS a WHERE a.number = p.number)
    ORDER BY p.number
  LOOP
    what := 'detached';
    RETURN NEXT;
  END LOOP;

  -- It has come here by itself, or by hand.
  INSERT INTO @schema@.event_partition AS p (number, began_at) VALUES (current, clock_timestamp())
  ON CONFLICT ON CONSTRAINT event_partition_pkey DO UPDATE
  SET began_at = excluded.began_at WHERE p.began_at IS NULL;
  began := (SELECT p.began_at FROM @schema@.event_partition AS p WHERE p.number = current);
  next := (SELECT min(a.number) FROM @schema@.attached_partitions() AS a WHERE a.number > current);
  IF next IS NOT NULL AND began < date_trunc(unit, clock_timestamp(), 'UTC') THEN
    is_used := EXISTS (SELECT FROM @schema@.event AS e
                       WHERE e.seq >= current << 32 AND e.seq <= (current << 32) + 4294967295);
    IF is_used THEN
      PERFORM setval(seq_name, next << 32, false);
      current := next;
      what := 'began';
      number := current;
      RETURN NEXT;
    END IF;
    INSERT INTO @schema@.event_partition AS p (number, began_at) VALUES (current, clock_timestamp())
    ON CONFLICT ON CONSTRAINT event_partition_pkey DO UPDATE SET began_at = excluded.began_at;
  END IF;

  ready := (SELECT count(*) FROM @schema@.attached_partitions() AS a WHERE a.number > current);
  sample := (SELECT a.part FROM @schema@.attached_partitions() AS a ORDER BY a.number DESC LIMIT 1);
  options := (SELECT array_to_string(c.reloptions, ', ') FROM pg_class AS c WHERE c.oid = sample);
  number := CASE WHEN sample IS NULL THEN current - 1 ELSE current END;
  FOR round IN 1..100 LOOP
    EXIT WHEN ready >= ahead OR number >= 2147483646;
    number := number + 1;
    CONTINUE WHEN EXISTS (SELECT FROM @schema@.attached_partitions() AS a WHERE a.number = number);
    IF to_regclass(format('%I.%I', @schema_text@, 'event_p' || number)) IS NOT NULL THEN
      what := 'taken';
      IF NOT EXISTS (SELECT FROM @schema@.event_partition AS p WHERE p.number = number) THEN
        RETURN NEXT;
      END IF;
      CONTINUE;
    END IF;
    -- A lock that is met here is met again in a minute. What has begun above stays.
    BEGIN
      PERFORM @schema@.make_partition(number, options), @schema@.attach_partition(number);
      INSERT INTO @schema@.event_partition (number) VALUES (number) ON CONFLICT DO NOTHING;
    EXCEPTION WHEN lock_not_available THEN
      EXIT;
    END;
    what := 'made';
    RETURN NEXT;
    ready := ready + 1;
  END LOOP;
END
$outboxd$;

-- Drops a partition that has nothing left to publish or keep, and returns null. Otherwise returns why the
-- partition is kept: 'gone', 'written to', or 'unfinished'. The caller has verified that every row of the
-- partition is old and published. `seen` is the snapshot from the start of that check. This function only
-- looks for changes since then, using indexes, and for rows beyond the bounds, in case somebody has attached
-- the partition with other bounds.
--
-- The function looks twice. The first look runs while other sessions continue, so that it decides most cases
-- without blocking anybody, and loads the pages for the second look into memory. The second look is final,
-- under a lock that blocks the outbox for everybody. While the function waits for that lock, other sessions
-- wait behind it, so it gives up (55P03) after 20 ms. A vacuum of the partition, which would prevent the
-- drop, is detected before.
CREATE OR REPLACE FUNCTION @schema@.drop_partition(which bigint, seen pg_snapshot) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '20ms'
SET enable_seqscan = off
SET jit = off
SET enable_bitmapscan = off
AS $outboxd$
DECLARE
  part     CONSTANT text := format('%I.%I', @schema_text@, 'event_p' || which);
  is_first CONSTANT boolean := which = (SELECT min(a.number) FROM @schema@.attached_partitions() AS a);
  is_left  boolean;
BEGIN
  PERFORM @schema@.require_role('outbox_relay');
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE invalid_transaction_state USING
      MESSAGE = 'drop_partition has to see what was committed before it got its lock:'
                ' it needs READ COMMITTED';
  END IF;
  IF NOT EXISTS (SELECT FROM @schema@.attached_partitions() AS a WHERE a.number = which) THEN
    RETURN 'gone';
  END IF;
  EXECUTE format('LOCK TABLE %s IN SHARE UPDATE EXCLUSIVE MODE', part);
  FOR look IN 1..2 LOOP
    IF look = 2 THEN
      LOCK TABLE ONLY @schema@.event IN ACCESS EXCLUSIVE MODE;
    END IF;
    IF which >= @schema@.next_seq() >> 32
       OR NOT EXISTS (SELECT FROM @schema@.event_partition AS p
                      WHERE p.number > which AND p.began_at IS NOT NULL) THEN
      RETURN 'written to';
    END IF;
    EXECUTE format($query$
      SELECT EXISTS (SELECT FROM %1$s AS e WHERE e.exception IN ('scheduled', 'backing_off'))
          OR EXISTS (SELECT FROM %1$s AS e WHERE e.exception IN ('backing_off', 'parked'))
          OR EXISTS (SELECT FROM %1$s AS e WHERE e.exception >= 'dead')
          OR EXISTS (SELECT FROM %1$s AS e WHERE e.tx >= pg_snapshot_xmax($1))
          OR EXISTS (SELECT FROM %1$s AS e WHERE e.tx = ANY (ARRAY(SELECT pg_snapshot_xip($1))))
          OR EXISTS (SELECT FROM %1$s AS e WHERE e.seq > $2)
          OR EXISTS (SELECT FROM %1$s AS e WHERE e.seq < $3)$query$, part)
    INTO is_left USING seen, (which << 32) + 4294967295, CASE WHEN NOT is_first THEN which << 32 END;
    IF is_left THEN
      RETURN 'unfinished';
    END IF;
  END LOOP;
  EXECUTE format('DROP TABLE %s', part);
  DELETE FROM @schema@.event_partition AS p WHERE p.number = which;
  RETURN NULL;
END
$outboxd$;
