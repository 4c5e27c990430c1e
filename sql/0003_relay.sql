-- The relay's side: claim, sweep, and the doorbell's locks. What it writes when a batch is done is in the relay's prepared statements.
--
-- Advisory locks: key 1 is the oid of the event table, so that two outboxes and the application's own locks do not
-- meet; key 2 is the shard, 0 to 63, or one of the doorbell's (64 to 66, see ring_doorbell).

CREATE TYPE @schema@.claimed_event AS (
  id              uuid,
  seq             bigint,
  aggregate_type  text,
  aggregate_id    text,
  event_type      text,
  payload         @payload_type@,
  headers         jsonb,
  exchange        text,
  routing_key     text,
  attempts        integer,
  nacks           smallint,
  created_at      timestamptz,
  behind          bigint,   -- not to be published: the seq of an earlier waiting event of its aggregate
  shard_waits     boolean,  -- events stand behind another: who finishes this event has to release those behind it
  more            boolean   -- other shards have due events too
);

-- Claims up to max_shards shards that have pending events and returns their oldest events in seq order: at most batch
-- events and batch_bytes bytes, but always one. Nothing is written: the claim is the advisory locks, held until the
-- caller's transaction ends. To be called in READ COMMITTED.
--
-- The events are read in a statement of their own, after the locks: its snapshot is younger than the locks, so it
-- sees everything that earlier owners of these shards have finished.
--
-- A row of nulls means that others had finished all there was in the shards that it locked. End the transaction and claim
-- again: who came for an event that was committed meanwhile has found its shard locked and gone away.
CREATE FUNCTION @schema@.claim(batch integer, batch_bytes bigint, max_shards integer)
RETURNS SETOF @schema@.claimed_event LANGUAGE plpgsql
SET search_path = @schema@, pg_temp
-- Each query below has one right plan, through the partial indexes, whatever the statistics say.
SET enable_seqscan = off
SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan
AS $outboxd$
#variable_conflict use_variable
DECLARE
  first_shard CONSTANT integer := floor(random() * 64);
  lock_class  CONSTANT integer := 'event'::regclass::oid::integer;
  owned       smallint[];
  per_shard   integer;
  size        bigint;
  bytes       bigint := 0;
  claimed     record;
  nothing     claimed_event;
BEGIN
  -- The shards are looked at from a random one on, only until enough are locked: every look walks over the index entries
  -- of finished events, and lanes that begin at different shards seldom meet. The subquery cannot be flattened, so that
  -- the lock function runs for shards with work alone.
  SELECT array_agg(l.shard) INTO owned
  FROM (
    SELECT c.shard
    FROM (
      SELECT s.shard
      FROM (SELECT ((first_shard + i) % 64)::smallint AS shard FROM generate_series(0, 63) AS i) AS s
      CROSS JOIN LATERAL (
        SELECT FROM event AS e
        WHERE e.shard = s.shard AND e.status = 'pending'
        ORDER BY e.seq LIMIT 1) AS due
      OFFSET 0) AS c
    WHERE pg_try_advisory_xact_lock(lock_class, c.shard)
    LIMIT max_shards) AS l;

  IF owned IS NULL THEN
    RETURN;
  END IF;
  per_shard := ceil(batch::numeric / cardinality(owned));

  FOR claimed IN
    SELECT e.id, e.seq, e.aggregate_type, e.aggregate_id, e.event_type, e.payload, e.headers, e.exchange, e.routing_key,
           e.attempts, e.nacks, e.created_at,
           CASE WHEN shards.wait THEN (
             SELECT w.seq FROM event AS w
             WHERE w.status = 'waiting' AND w.shard = e.shard
               AND left(w.aggregate_id, 200) COLLATE "C" = left(e.aggregate_id, 200) COLLATE "C"
               AND left(w.aggregate_type, 100) COLLATE "C" = left(e.aggregate_type, 100) COLLATE "C"
               AND w.aggregate_type = e.aggregate_type AND w.aggregate_id = e.aggregate_id
               AND w.seq < e.seq
             ORDER BY w.seq LIMIT 1) END AS behind,
           shards.have_followers AS shard_waits,
           cardinality(owned) = max_shards AS more
    FROM (
      SELECT EXISTS (
        SELECT FROM unnest(owned) AS s(shard)
        CROSS JOIN LATERAL (
          SELECT FROM event AS w WHERE w.shard = s.shard AND w.status = 'waiting' LIMIT 1) AS w) AS wait,
      EXISTS (
        SELECT FROM unnest(owned) AS s(shard)
        CROSS JOIN LATERAL (
          SELECT FROM event AS w WHERE w.shard = s.shard AND w.behind IS NOT NULL LIMIT 1) AS w) AS have_followers
      OFFSET 0) AS shards
    CROSS JOIN unnest(owned) AS s(shard)
    CROSS JOIN LATERAL (
      SELECT * FROM event AS p
      WHERE p.shard = s.shard AND p.status = 'pending'
      ORDER BY p.seq LIMIT per_shard) AS e
    ORDER BY e.seq
    LIMIT batch
  LOOP
    IF claimed.behind IS NOT NULL THEN
      claimed.payload := NULL;
      claimed.headers := NULL;
    END IF;
    size := coalesce(octet_length(claimed.payload::@payload_octets@), 0)
      + coalesce(octet_length(claimed.headers::text), 0)
      + octet_length(claimed.aggregate_type) + octet_length(claimed.aggregate_id) + octet_length(claimed.event_type)
      + coalesce(octet_length(claimed.exchange), 0) + coalesce(octet_length(claimed.routing_key), 0);
    EXIT WHEN bytes > 0 AND bytes + size > batch_bytes;
    bytes := bytes + size;
    RETURN NEXT claimed;
  END LOOP;
  IF NOT FOUND THEN
    RETURN NEXT nothing;
  END IF;
END
$outboxd$;

-- Looks whether there is work: events that are due become pending again, at most max_due of them in one call.
-- due: there are pending events. woken: how many became pending. queues: there are events that stand behind another.
-- next_due: until the next waiting event is due, null if there is none.
-- A relay calls it at every sweep interval; with nothing to do it only reads.
CREATE FUNCTION @schema@.sweep(
  max_due integer, OUT due boolean, OUT woken integer, OUT queues boolean, OUT next_due interval)
LANGUAGE plpgsql
SET search_path = @schema@, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $outboxd$
DECLARE
  at CONSTANT timestamptz := clock_timestamp();  -- the function itself is volatile and so never an index condition
BEGIN
  woken := 0;
  IF EXISTS (SELECT FROM event AS w WHERE w.status = 'waiting' AND w.behind IS NULL AND w.available_at <= at) THEN
    UPDATE event AS e SET status = 'pending'
    WHERE e.id IN (
      SELECT w.id FROM event AS w
      WHERE w.status = 'waiting' AND w.behind IS NULL AND w.available_at <= at
      ORDER BY w.available_at LIMIT max_due
      FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS woken = ROW_COUNT;
  END IF;

  due := EXISTS (SELECT FROM event AS p WHERE p.status = 'pending');
  queues := EXISTS (SELECT FROM event AS w WHERE w.behind IS NOT NULL);
  -- An infinite time cannot be subtracted from: -infinity is long ago, and infinity is never.
  SELECT nullif(greatest(w.available_at, 'epoch'), 'infinity') - at INTO next_due
  FROM event AS w WHERE w.status = 'waiting' AND w.behind IS NULL
  ORDER BY w.available_at LIMIT 1;
END
$outboxd$;

-- Releases events that stand behind one that is finished or gone, at most `most` of them, the oldest first, and returns
-- how many. Whoever finishes an event releases its followers; this is for those that are left: of a queue too long for
-- one statement, or of an event that was deleted or finished by hand. It looks at every queue once, however long it is.
CREATE FUNCTION @schema@.release_orphans(most integer) RETURNS integer
LANGUAGE plpgsql
SET search_path = @schema@, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $outboxd$
DECLARE
  heads    bigint[];
  released integer;
BEGIN
  WITH RECURSIVE head(seq) AS (
    (SELECT w.behind FROM event AS w WHERE w.behind IS NOT NULL ORDER BY w.behind LIMIT 1)
    UNION ALL
    SELECT (SELECT w.behind FROM event AS w WHERE w.behind > h.seq ORDER BY w.behind LIMIT 1)
    FROM head AS h WHERE h.seq IS NOT NULL)
  SELECT array_agg(h.seq) INTO heads
  FROM head AS h
  CROSS JOIN LATERAL (SELECT * FROM event AS w WHERE w.behind = h.seq LIMIT 1) AS follower
  WHERE NOT EXISTS (SELECT FROM event AS p
                    WHERE p.status = 'pending' AND p.shard = follower.shard AND p.seq = h.seq)
    AND NOT EXISTS (SELECT FROM event AS p
                    WHERE p.status = 'waiting' AND p.shard = follower.shard
                      AND left(p.aggregate_id, 200) COLLATE "C" = left(follower.aggregate_id, 200) COLLATE "C"
                      AND left(p.aggregate_type, 100) COLLATE "C" = left(follower.aggregate_type, 100) COLLATE "C"
                      AND p.seq = h.seq);
  IF heads IS NULL THEN
    RETURN 0;
  END IF;
  UPDATE event AS e SET status = 'pending', behind = NULL
  WHERE e.id IN (
    SELECT w.id FROM event AS w WHERE w.behind = ANY (heads)
    ORDER BY w.seq LIMIT most
    FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS released = ROW_COUNT;
  RETURN released;
END
$outboxd$;

-- Makes writers keep silent, until the caller's transaction ends: it waits for those that have rung and not yet ended, and
-- while it waits new ones keep silent already. Give it a lock_timeout: to wait holds a snapshot. False, at once: another
-- relay does it.
CREATE FUNCTION @schema@.mute() RETURNS boolean LANGUAGE plpgsql
SET search_path = @schema@, pg_temp
AS $outboxd$
DECLARE
  lock_class CONSTANT integer := 'event'::regclass::oid::integer;
BEGIN
  IF NOT pg_try_advisory_xact_lock(lock_class, 66) THEN
    RETURN false;
  END IF;
  PERFORM pg_advisory_xact_lock(lock_class, 64);
  RETURN true;
END
$outboxd$;

-- Is nobody muting any more, and has everybody ended who kept silent? The next statement sees what they committed, and
-- until the end of the transaction nobody new keeps silent. It does not wait.
CREATE FUNCTION @schema@.silence_is_over() RETURNS boolean LANGUAGE plpgsql
SET search_path = @schema@, pg_temp
AS $outboxd$
DECLARE
  lock_class CONSTANT integer := 'event'::regclass::oid::integer;
BEGIN
  IF NOT pg_try_advisory_xact_lock_shared(lock_class, 64) THEN
    RETURN false;
  END IF;
  RETURN pg_try_advisory_xact_lock(lock_class, 65);
END
$outboxd$;
