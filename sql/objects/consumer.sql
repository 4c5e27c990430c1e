-- The consumers' side: an effect is applied once, however often its event is delivered. Also has the
-- functions that delete old rows: records of consumers, and published events.

-- Returns true if this consumer has not processed this event yet. The event is then recorded as processed, in
-- the caller's transaction. A consumer calls this function in the transaction that applies the event's
-- effect, and applies the effect only if the result is true. A rollback of the effect also removes the
-- record, so exactly one committed transaction gets true.
--
-- While another transaction that got true is still open, the call waits for its end: the result is false if
-- that transaction commits, and true if it rolls back. This holds in READ COMMITTED. In REPEATABLE READ and
-- SERIALIZABLE, where the caller's snapshot may be older than the other's commit, the call fails with 40001
-- instead of returning false. The transaction must then be retried, as these isolation levels require anyway.
--
-- Runs with the caller's privileges; only INSERT is needed: see docs/consuming.md.
CREATE OR REPLACE FUNCTION @schema@.first_time(consumer_name text, event_id uuid) RETURNS boolean
LANGUAGE plpgsql AS $outboxd$
BEGIN
  INSERT INTO @schema@.processed_event (consumer_name, event_id)
  VALUES (first_time.consumer_name, first_time.event_id)
  ON CONFLICT DO NOTHING;
  RETURN FOUND;
END
$outboxd$;

-- Deletes at most `most` records of events that were processed before older_than and not before `from_time`,
-- the oldest first. Locked records are kept. Returns how many were deleted, and the time reached, so that the
-- next call need not scan the deleted rows again. Used by prune_processed, and by the relay
-- (retention.processed).
CREATE OR REPLACE FUNCTION @schema@.forget_processed(from_time timestamptz, older_than timestamptz,
  most integer,
  OUT records bigint, OUT reached timestamptz)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $outboxd$
BEGIN
  PERFORM @schema@.require_role('outbox_relay', 'outbox_operator');
  WITH gone AS (
    DELETE FROM @schema@.processed_event AS p
    WHERE p.ctid = ANY (ARRAY(
      SELECT o.ctid FROM @schema@.processed_event AS o
      WHERE o.processed_at >= from_time AND o.processed_at < older_than
      ORDER BY o.processed_at LIMIT most
      FOR UPDATE SKIP LOCKED))
    RETURNING p.processed_at)
  SELECT count(*), coalesce(max(g.processed_at), from_time) INTO records, reached FROM gone AS g;
END
$outboxd$;

-- Deletes at most `most` records of events that were processed before older_than, the oldest first, and
-- returns how many. An event that is delivered again after its record was pruned is processed again.
-- audit_count is in operator.sql.
CREATE OR REPLACE FUNCTION @schema@.prune_processed(older_than timestamptz, most integer,
  audit bigint DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $outboxd$
DECLARE
  pruned bigint;
BEGIN
  PERFORM @schema@.require_role('outbox_operator');
  pruned := (SELECT f.records FROM @schema@.forget_processed('-infinity', older_than, most) AS f);
  PERFORM @schema@.audit_count(audit, 'prune', format('--older-than %s', older_than), 0, pruned);
  RETURN pruned;
END
$outboxd$;

-- Deletes the events at these places, with these seqs, that were published before older_than. Locked events
-- are kept. A row may also be kept by a foreign key that references it, or by a trigger that raises an error.
-- PostgreSQL then rejects the whole DELETE, so smaller sets are tried, until such a row is alone and is kept.
-- `kept` counts these rows, and `why` is the reason for the first of them. A transaction with many
-- subtransactions slows down other sessions, so the function stops after fifty of them, or after two hundred
-- such rows. `reached` is the number of places that have been tried.
--
-- Runs with the caller's privileges. `why` names only objects of the catalog, because a trigger may raise an
-- error with any text.
CREATE OR REPLACE FUNCTION @schema@.prune_places(places tid[], seqs bigint[], older_than timestamptz,
  OUT pruned bigint, OUT kept bigint, OUT why text, OUT reached integer)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
SET enable_bitmapscan = off
AS $outboxd$
#variable_conflict use_variable
DECLARE
  event   CONSTANT regclass := format('%I.event', @schema_text@)::regclass;
  size    integer := cardinality(places);
  blocks  integer := 0;
  late    text;
  gone    bigint;
  code    text;
  its     record;
BEGIN
  pruned := 0;
  kept := 0;
  reached := 0;
  -- A constraint that is looked at with the commit would refuse that.
  late := (SELECT string_agg(format('%I.%I', n.nspname, c.conname), ', ')
           FROM pg_constraint AS c JOIN pg_namespace AS n ON n.oid = c.connamespace
           WHERE c.condeferrable AND (c.confrelid = event OR c.conrelid = event));
  WHILE reached < cardinality(places) AND blocks < 50 AND kept < 200 LOOP
    BEGIN
      -- Each partition has a row at such a place, the seq tells which; src/pg/relay_statements.cpp tells the
      -- rest.
      WITH found AS MATERIALIZED (
        SELECT e.ctid AS place, e.seq
        FROM unnest(places[reached + 1:reached + size], seqs[reached + 1:reached + size]) AS k(place, seq),
             @schema@.event AS e
        WHERE e.ctid = k.place AND e.seq = k.seq AND (k.seq & 0) = 0
          AND k.place BETWEEN '(0,0)' AND '(4294967295,65535)'
          AND e.status = 'published' AND e.published_at < older_than
        FOR UPDATE OF e SKIP LOCKED)
      DELETE FROM @schema@.event AS e USING found AS k
      WHERE e.ctid = k.place AND e.seq = k.seq AND (k.seq & 0) = 0
        AND k.place BETWEEN '(0,0)' AND '(4294967295,65535)';
      GET DIAGNOSTICS gone = ROW_COUNT;
      IF late IS NOT NULL THEN
        EXECUTE format('SET CONSTRAINTS %s IMMEDIATE', late);
      END IF;
      pruned := pruned + gone;
      blocks := blocks + 1;
      reached := reached + size;
      size := 2 * size;
    EXCEPTION WHEN OTHERS THEN
      -- A lock, a full disk, a server that ends: no row's fault.
      IF SQLSTATE ~ '^(08|25|40|53|55|57|58|XX)' THEN
        RAISE;
      END IF;
      IF size > 1 THEN
        size := size / 2;
      ELSE
        kept := kept + 1;
        reached := reached + 1;
        IF why IS NULL THEN
          GET STACKED DIAGNOSTICS code = CONSTRAINT_NAME;
          SELECT c.conname, c.conrelid::regclass AS of INTO its FROM pg_constraint AS c
          WHERE c.conname = code AND c.contype = 'f' AND c.confrelid = event
          ORDER BY c.conrelid::regclass::text LIMIT 1;
          IF FOUND THEN
            why := format('the foreign key %I of %s refers to them; delete its rows first, or make the key ON'
                          ' DELETE CASCADE or SET NULL', its.conname, its.of);
          ELSE
            why := format('PostgreSQL refuses to delete them (SQLSTATE %s)%s', SQLSTATE,
              (SELECT '; triggers for DELETE: ' || string_agg(format('%I', t.tgname), ', ' ORDER BY t.tgname)
               FROM pg_trigger AS t WHERE t.tgrelid = event AND NOT t.tgisinternal AND t.tgtype & 8 = 8));
          END IF;
        END IF;
      END IF;
    END;
  END LOOP;
END
$outboxd$;

-- Deletes at most `most` events that were published before older_than and come after this seq, the oldest
-- first. Returns how many were deleted, and the seq reached; 0 means that there are no more. Pending, waiting
-- and dead events are never pruned, however old. Events locked by another session are kept. No index covers
-- published events, because every mark would have to update it. So the function reads events in seq order,
-- until a thousand in a row were created too recently.
CREATE OR REPLACE FUNCTION @schema@.prune_from(older_than timestamptz, most integer, audit bigint,
  after bigint,
  OUT pruned bigint, OUT upto bigint, OUT kept bigint, OUT why text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
SET enable_bitmapscan = off
AS $outboxd$
#variable_conflict use_variable
DECLARE
  young   integer := 0;
  one     record;
  places  tid[];
  seqs    bigint[];
  portion record;
BEGIN
  PERFORM @schema@.require_role('outbox_operator');
  pruned := 0;
  kept := 0;
  upto := after;
  WHILE most > 0 LOOP
    places := '{}';
    seqs := '{}';
    FOR one IN
      SELECT e.ctid AS place, e.seq, e.created_at,
             e.status = 'published' AND e.published_at < older_than AS old
      FROM @schema@.event AS e WHERE e.seq > upto ORDER BY e.seq
    LOOP
      young := CASE WHEN one.created_at < older_than THEN 0 ELSE young + 1 END;
      EXIT WHEN young > 1000;
      upto := one.seq;
      IF one.old THEN
        places := places || one.place;
        seqs := seqs || one.seq;
        EXIT WHEN cardinality(places) >= most;
      END IF;
    END LOOP;
    SELECT d.* INTO portion FROM @schema@.prune_places(places, seqs, older_than) AS d;
    pruned := pruned + portion.pruned;
    kept := kept + portion.kept;
    why := coalesce(why, portion.why);
    IF portion.reached < cardinality(places) THEN
      upto := seqs[portion.reached];
    END IF;
    EXIT WHEN portion.pruned > 0 OR cardinality(places) < most;
  END LOOP;
  PERFORM @schema@.audit_count(audit, 'prune', format('--older-than %s', older_than), pruned);
END
$outboxd$;

-- Starts from the lowest seq on each call. For users who call this function in SQL until it returns 0.
CREATE OR REPLACE FUNCTION @schema@.prune_published(older_than timestamptz, most integer,
  audit bigint DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $outboxd$
DECLARE
  done record;
BEGIN
  SELECT p.* INTO done FROM @schema@.prune_from(older_than, most, audit, 0) AS p;
  IF done.kept > 0 THEN
    RAISE WARNING USING MESSAGE = format('%s events stay: %s', done.kept, done.why);
  END IF;
  RETURN done.pruned;
END
$outboxd$;
