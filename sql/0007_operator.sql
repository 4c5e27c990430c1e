-- The operators' side: dead letters, replay, pruning. The functions take as many events as the caller wants to change in
-- one transaction; some thousands are a good portion. To be called in READ COMMITTED.

-- Dead events in seq order.
CREATE INDEX event_dead ON @schema@.event (seq) WHERE exception = 'dead';

-- Has those of these events published once more that have the status `were`, dead or published, and returns how many. They keep their
-- id and their seq. From the moment that the leader reads them, later events of their aggregate wait behind them.
CREATE FUNCTION @schema@.requeue(ids uuid[], were @schema@.event_status) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = @schema@, pg_temp
SET enable_seqscan = off
AS $outboxd$
DECLARE
  changed bigint;
BEGIN
  UPDATE event AS e
  SET status = 'waiting', exception = 'backing_off', attempts = 0, deferrals = 0, available_at = clock_timestamp(),
      published_at = NULL
  WHERE e.id IN (
    SELECT w.id FROM event AS w WHERE w.id = ANY (ids) AND w.status = were
    ORDER BY w.id FOR UPDATE);
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed > 0 THEN
    PERFORM pg_notify(@schema_text@, 'due');
  END IF;
  RETURN changed;
END
$outboxd$;

CREATE FUNCTION @schema@.dead_retry(ids uuid[]) RETURNS bigint LANGUAGE sql
AS $outboxd$
  SELECT @schema@.requeue(ids, 'dead');
$outboxd$;

-- They are published once more, with the same id and seq.
CREATE FUNCTION @schema@.replay(ids uuid[]) RETURNS bigint LANGUAGE sql
AS $outboxd$
  SELECT @schema@.requeue(ids, 'published');
$outboxd$;

-- Deletes the dead ones of these events and returns how many. No other event waits for a dead one.
CREATE FUNCTION @schema@.dead_discard(ids uuid[]) RETURNS bigint LANGUAGE plpgsql
SET search_path = @schema@, pg_temp
SET enable_seqscan = off
AS $outboxd$
DECLARE
  changed bigint;
BEGIN
  DELETE FROM event AS e
  WHERE e.id IN (
    SELECT d.id FROM event AS d WHERE d.id = ANY (ids) AND d.status = 'dead'
    ORDER BY d.id FOR UPDATE);
  GET DIAGNOSTICS changed = ROW_COUNT;
  RETURN changed;
END
$outboxd$;

-- Deletes at most `most` events that were published before older_than, the oldest first, and returns how many; 0 if there are no
-- more. Events that are pending, waiting or dead are never pruned, however old; one that somebody has locked is left to him.
-- No index lists what is published, which every mark would pay for: it goes through the events in seq order, until a
-- thousand in a row were created too late.
CREATE FUNCTION @schema@.prune_published(older_than timestamptz, most integer) RETURNS bigint LANGUAGE plpgsql
SET search_path = @schema@, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $outboxd$
#variable_conflict use_variable
DECLARE
  after  bigint := 0;  -- the last seq that was looked at
  young  integer := 0;
  one    record;
  places tid[];
  pruned bigint;
BEGIN
  LOOP
    places := '{}';
    FOR one IN
      SELECT e.ctid AS place, e.seq, e.created_at, e.status = 'published' AND e.published_at < older_than AS old
      FROM event AS e WHERE e.seq > after ORDER BY e.seq
    LOOP
      young := CASE WHEN one.created_at < older_than THEN 0 ELSE young + 1 END;
      EXIT WHEN young > 1000;
      after := one.seq;
      IF one.old THEN
        places := places || one.place;
        EXIT WHEN cardinality(places) >= most;
      END IF;
    END LOOP;
    DELETE FROM event AS e
    WHERE e.ctid = ANY (ARRAY(
      SELECT p.ctid FROM event AS p
      WHERE p.ctid = ANY (places) AND p.status = 'published' AND p.published_at < older_than
      FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS pruned = ROW_COUNT;
    EXIT WHEN pruned > 0 OR cardinality(places) < most OR most < 1;
  END LOOP;
  RETURN pruned;
END
$outboxd$;

REVOKE ALL ON FUNCTION
  @schema@.requeue(uuid[], @schema@.event_status),
  @schema@.dead_retry(uuid[]), @schema@.dead_discard(uuid[]), @schema@.replay(uuid[]),
  @schema@.prune_published(timestamptz, integer)
  FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
  @schema@.requeue(uuid[], @schema@.event_status),
  @schema@.dead_retry(uuid[]), @schema@.dead_discard(uuid[]), @schema@.replay(uuid[]),
  @schema@.prune_published(timestamptz, integer)
  TO outbox_operator;
