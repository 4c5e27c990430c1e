-- The operators' side: dead letters, replay, pruning. The functions take as many events as the caller wants to change in
-- one transaction; some thousands are a good portion. To be called in READ COMMITTED.

-- Dead events in seq order.
CREATE INDEX event_dead ON @schema@.event (seq) WHERE aside = 'dead';

-- Takes the shards of these events from the relays until the end of the transaction; waits for batches under way. The next
-- statement then sees what their owners have finished. In the order of the shards: two callers cannot deadlock.
CREATE FUNCTION @schema@.lock_shards(ids uuid[]) RETURNS void LANGUAGE plpgsql
SET search_path = @schema@, pg_temp
SET enable_seqscan = off
AS $outboxd$
DECLARE
  lock_class CONSTANT integer := 'event'::regclass::oid::integer;
  one        smallint;
BEGIN
  FOR one IN SELECT DISTINCT e.shard FROM event AS e WHERE e.id = ANY (ids) ORDER BY e.shard LOOP
    PERFORM pg_advisory_xact_lock(lock_class, one);
  END LOOP;
END
$outboxd$;

-- Makes those of these events pending again that have the status `were`, dead or published, and returns how many. They keep
-- their id, their seq, and so their place: before later events of their aggregate that are not published yet, and behind an
-- earlier one that waits (the claim sees to that). Without the shards, a relay might just be publishing a later event that
-- it had claimed before.
CREATE FUNCTION @schema@.make_pending(ids uuid[], were @schema@.event_status) RETURNS bigint LANGUAGE plpgsql
SET search_path = @schema@, pg_temp
SET enable_seqscan = off
AS $outboxd$
DECLARE
  changed bigint;
BEGIN
  PERFORM lock_shards(ids);
  UPDATE event AS e
  SET status = 'pending', aside = 'pending', attempts = 0, nacks = 0, available_at = clock_timestamp(), published_at = NULL
  WHERE e.id IN (
    SELECT w.id FROM event AS w WHERE w.id = ANY (ids) AND w.status = were
    ORDER BY w.id FOR UPDATE);
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed > 0 THEN
    PERFORM pg_notify(@schema_text@, '');
  END IF;
  RETURN changed;
END
$outboxd$;

CREATE FUNCTION @schema@.dead_retry(ids uuid[]) RETURNS bigint LANGUAGE sql
AS $outboxd$
  SELECT @schema@.make_pending(ids, 'dead');
$outboxd$;

-- They are published once more, with the same id and seq.
CREATE FUNCTION @schema@.replay(ids uuid[]) RETURNS bigint LANGUAGE sql
AS $outboxd$
  SELECT @schema@.make_pending(ids, 'published');
$outboxd$;

-- Deletes the dead ones of these events and returns how many. Nobody is claimed or waits because of a dead event, so no
-- shard is needed; followers that were not released yet are found by release_orphans.
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
      FROM event AS e WHERE e.seq + 0 > after ORDER BY e.seq + 0
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
  @schema@.lock_shards(uuid[]), @schema@.make_pending(uuid[], @schema@.event_status),
  @schema@.dead_retry(uuid[]), @schema@.dead_discard(uuid[]), @schema@.replay(uuid[]),
  @schema@.prune_published(timestamptz, integer)
  FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
  @schema@.lock_shards(uuid[]), @schema@.make_pending(uuid[], @schema@.event_status),
  @schema@.dead_retry(uuid[]), @schema@.dead_discard(uuid[]), @schema@.replay(uuid[]),
  @schema@.prune_published(timestamptz, integer)
  TO outbox_operator;
