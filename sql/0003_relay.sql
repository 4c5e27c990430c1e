-- The relay's side: claim, sweep, and the doorbell's locks. What it writes when a batch is done is in the relay's prepared statements.
--
-- Advisory locks: key 1 is the oid of the event table, so that two outboxes and the application's own locks do not
-- meet; key 2 is the shard, 0 to 63, or one of the doorbell's (64 to 66, see ring_doorbell).

-- A claim is two statements of one READ COMMITTED transaction: take_shards locks shards, and the next one reads their events,
-- with a snapshot younger than the locks: it sees everything that earlier owners of these shards have finished or released.
-- Nothing is written: the claim is the advisory locks, held until the transaction ends.
--
-- floors: for each shard, in order, a seq below which nothing is pending or can become so but returned events, see sweep.
-- Finished events stay in the index until they are vacuumed, which an old snapshot anywhere in the cluster prevents; from
-- its floor on a claim walks over few of them. Null: from the beginning.

-- Locks up to max_shards shards that have pending events, and returns them. Empty: there is nothing to do, or others do it,
-- or the server is read-only: what was published there could not be marked, and would be published again and again.
-- They are also in the setting outboxd.shards until the transaction ends.
CREATE FUNCTION @schema@.take_shards(max_shards integer, floors bigint[] DEFAULT NULL)
RETURNS smallint[] LANGUAGE plpgsql
SET search_path = @schema@, pg_temp
-- The query has one right plan, through the partial indexes, whatever the statistics say. A scan that is avoided at any
-- price, but not avoidable, would look dear enough for compiling.
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $outboxd$
#variable_conflict use_variable
DECLARE
  first_shard CONSTANT integer := floor(random() * 64);
  lock_class  CONSTANT integer := 'event'::regclass::oid::integer;
  owned       smallint[];
BEGIN
  -- The shards are looked at from a random one on, only until enough are locked: lanes that begin at different shards
  -- seldom meet. The subquery cannot be flattened, so that the lock function runs for shards with work alone.
  SELECT coalesce(array_agg(l.shard), '{}') INTO owned
  FROM (
    SELECT c.shard
    FROM (
      SELECT s.shard
      FROM (SELECT EXISTS (SELECT FROM event AS r WHERE r.status = 'pending' AND r.returned) AS found OFFSET 0) AS returned
      CROSS JOIN (SELECT ((first_shard + i) % 64)::smallint AS shard FROM generate_series(0, 63) AS i) AS s
      CROSS JOIN LATERAL (
        SELECT FROM event AS e
        WHERE e.shard = s.shard AND e.status = 'pending'
          AND e.seq >= least(coalesce(floors[s.shard + 1], 0), CASE WHEN returned.found THEN (
            SELECT r.seq FROM event AS r WHERE r.shard = s.shard AND r.status = 'pending' AND r.returned
            ORDER BY r.seq LIMIT 1) END)
        ORDER BY e.seq LIMIT 1) AS due
      OFFSET 0) AS c
    WHERE pg_try_advisory_xact_lock(lock_class, c.shard)
    LIMIT CASE WHEN current_setting('transaction_read_only') = 'off' THEN max_shards ELSE 0 END) AS l;
  PERFORM set_config('outboxd.shards', owned::text, true);
  RETURN owned;
END
$outboxd$;

-- The oldest events of the shards that take_shards has locked: at most batch events and batch_bytes bytes, but always one;
-- shard after shard, those of each in seq order. None: others had finished all there was. End the transaction and claim
-- again then: who came for an event that was committed meanwhile has found its shard locked and gone away.
--
-- Not for sorting, nor in PL/pgSQL, which would copy every event: written so that the planner puts it into the query that
-- calls it. To be called with enable_seqscan, enable_bitmapscan and jit off.
CREATE FUNCTION @schema@.claimed(batch integer, batch_bytes bigint, floors bigint[] DEFAULT NULL)
RETURNS TABLE (
  id              uuid,
  place           tid,      -- the row's ctid: the quickest way back to it
  seq             bigint,
  aggregate_type  text,
  aggregate_id    text,
  event_type      text,
  payload         @payload_octets@,
  payload_type    @payload_type@,  -- always null; its type tells what the payload is
  headers         text,
  exchange        text,
  routing_key     text,
  attempts        integer,
  nacks           smallint,
  created_at      timestamptz,
  behind          bigint,   -- not to be published: the seq of an earlier waiting event of its aggregate
  has_followers   boolean   -- events of its shard stand behind another: who finishes it has to release those behind it
) LANGUAGE sql STABLE AS $outboxd$
  SELECT b.id, b.place, b.seq, b.aggregate_type, b.aggregate_id, b.event_type, b.payload, NULL::@payload_type@, b.headers,
         b.exchange, b.routing_key, b.attempts, b.nacks, b.created_at, b.behind, b.has_followers
  FROM (
    SELECT p.*, sum(p.size) OVER (ROWS UNBOUNDED PRECEDING) AS total
    FROM (
      SELECT e.*, coalesce(octet_length(e.payload), 0) + coalesce(octet_length(e.headers), 0)
               + octet_length(e.aggregate_type) + octet_length(e.aggregate_id) + octet_length(e.event_type)
               + coalesce(octet_length(e.exchange), 0) + coalesce(octet_length(e.routing_key), 0) AS size
      FROM (
        SELECT d.id, d.place, d.seq, d.aggregate_type, d.aggregate_id, d.event_type,
               CASE WHEN d.waits_for IS NULL THEN d.payload::@payload_octets@ END AS payload,
               CASE WHEN d.waits_for IS NULL THEN d.headers::text END AS headers,
               d.exchange, d.routing_key, d.attempts, d.nacks, d.created_at, d.waits_for AS behind, s.has_followers
        FROM (
          SELECT EXISTS (SELECT FROM @schema@.event AS w WHERE w.status = 'waiting') AS wait,
                 EXISTS (SELECT FROM @schema@.event AS w WHERE w.behind IS NOT NULL) AS follow,
                 EXISTS (SELECT FROM @schema@.event AS r WHERE r.status = 'pending' AND r.returned) AS returned,
                 current_setting('outboxd.shards')::smallint[] AS shards
          OFFSET 0) AS there
        CROSS JOIN LATERAL (
          SELECT o.shard,
                 there.follow AND (  -- not EXISTS, which the planner may take for a list of all followers
                   SELECT true FROM @schema@.event AS w WHERE w.shard = o.shard AND (w.behind IS NOT NULL) IS TRUE
                   LIMIT 1) IS NOT NULL
                   AS has_followers,
                 least(coalesce(floors[o.shard + 1], 0), CASE WHEN there.returned THEN (
                   SELECT r.seq FROM @schema@.event AS r WHERE r.shard = o.shard AND r.status = 'pending' AND r.returned
                   ORDER BY r.seq LIMIT 1) END) AS floor
          FROM unnest(there.shards) AS o(shard)
          OFFSET 0) AS s
        CROSS JOIN LATERAL (
          SELECT q.ctid AS place, q.*,
                 CASE WHEN there.wait THEN (
                   SELECT w.seq FROM @schema@.event AS w
                   WHERE w.status = 'waiting'
                     AND hashtextextended(w.aggregate_id COLLATE "C", hashtextextended(w.aggregate_type COLLATE "C", 0))
                       = hashtextextended(q.aggregate_id COLLATE "C", hashtextextended(q.aggregate_type COLLATE "C", 0))
                     AND w.aggregate_id = q.aggregate_id AND w.aggregate_type = q.aggregate_type
                     AND w.seq < q.seq
                   ORDER BY w.seq LIMIT 1) END AS waits_for
          FROM @schema@.event AS q
          WHERE q.shard = s.shard AND q.status = 'pending' AND q.seq >= s.floor
          ORDER BY q.seq LIMIT ceil(batch::numeric / cardinality(there.shards))) AS d
        LIMIT batch) AS e
      OFFSET 0) AS p) AS b
  WHERE b.total <= batch_bytes OR b.total = b.size
$outboxd$;

-- Looks whether there is work: events that are due become pending again, at most max_due of them in one call.
-- due: there are pending events. woken: how many became pending. queues: there are events that stand behind another.
-- next_due: until the next waiting event is due, null if there is none. contended: a commit waits to send its notification
-- until another one, of any database, has done so.
-- A relay calls it at every sweep interval; with nothing to do it only reads.
--
-- floors, settled, mark, writers: what one call has found out, for the next one and for the claims. floors: see take_shards; without
-- them it looks from the beginning, over all finished events that are not vacuumed yet. They hold only as long as the
-- server does not lose commits: forget them when any connection was lost.
--
-- No floor may pass a seq whose transaction is still open: when it commits, its event has to go before later ones of its
-- aggregate. settled: the transactions of all seqs up to this one have ended. To find such a seq: read the sequence (mark),
-- then see who may write to the table at that time (writers); when they all have ended, mark is settled. A transaction
-- takes its seqs under the lock that is looked for (LOCK, section Table-Level Lock Modes), and gives it back when its rows
-- are visible.
CREATE FUNCTION @schema@.sweep(
  max_due integer, INOUT floors bigint[] DEFAULT NULL, INOUT settled bigint DEFAULT NULL, INOUT mark bigint DEFAULT NULL,
  INOUT writers text[] DEFAULT NULL,
  OUT due boolean, OUT woken integer, OUT queues boolean, OUT next_due interval, OUT contended boolean)
LANGUAGE plpgsql
SET search_path = @schema@, pg_temp
SET enable_seqscan = off
SET jit = off
SET enable_bitmapscan = off
AS $outboxd$
#variable_conflict use_variable
DECLARE
  at          CONSTANT timestamptz := clock_timestamp();  -- the function itself is volatile and so never an index condition
  last        bigint;
  now_writing text[];
  prepared    text[];
  gone        boolean;
BEGIN
  woken := 0;
  IF EXISTS (SELECT FROM event AS w WHERE w.status = 'waiting' AND w.behind IS NULL AND w.available_at <= at) THEN
    -- By their places: a join may be planned, while the table is small, in a way that reads all of it.
    UPDATE event AS e SET status = 'pending', returned = true
    WHERE e.ctid = ANY (ARRAY(
      SELECT w.ctid FROM event AS w
      WHERE w.status = 'waiting' AND w.behind IS NULL AND w.available_at <= at
      ORDER BY w.available_at LIMIT max_due
      FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS woken = ROW_COUNT;
  END IF;

  SELECT CASE WHEN s.is_called THEN s.last_value ELSE s.last_value - 1 END INTO last FROM event_seq AS s;
  IF last < settled THEN  -- somebody has set the sequence back
    floors := NULL;
    settled := NULL;
    mark := NULL;
  END IF;
  -- The sweep's own update writes nothing new. A prepared transaction shows as -1/xid.
  -- Who notifies takes the lock of the object 0 of no database (async.c, PreCommit_Notify).
  SELECT coalesce(array_agg(DISTINCT l.virtualtransaction) FILTER (WHERE l.relation IS NOT NULL), '{}'),
         coalesce(array_agg(DISTINCT l.virtualtransaction) FILTER (WHERE l.relation IS NOT NULL AND l.pid IS NULL), '{}'),
         coalesce(bool_or(l.relation IS NULL), false)
  INTO now_writing, prepared, contended
  FROM pg_catalog.pg_locks AS l
  WHERE l.locktype = 'relation' AND l.mode = 'RowExclusiveLock' AND l.relation = 'event'::regclass
      AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
      AND l.pid IS DISTINCT FROM pg_backend_pid()
    OR l.locktype = 'object' AND l.database = 0 AND l.classid = 'pg_catalog.pg_database'::regclass AND l.objid = 0
      AND NOT l.granted;
  IF mark IS NOT NULL THEN
    gone := EXISTS (SELECT FROM unnest(writers) AS w WHERE w NOT LIKE '-%' AND w <> ALL (now_writing));
    SELECT coalesce(array_agg(w), '{}') INTO writers FROM unnest(writers) AS w WHERE w = ANY (now_writing);
    IF gone THEN
      writers := writers || prepared;  -- or it was prepared meanwhile, and is one of these now
    END IF;
    IF writers = '{}' THEN
      settled := mark;
      mark := NULL;
    END IF;
  END IF;
  IF now_writing = '{}' THEN
    settled := last;
    mark := NULL;
  ELSIF mark IS NULL THEN
    mark := last;
    writers := now_writing;
  END IF;
  IF EXISTS (
      SELECT FROM pg_catalog.pg_sequence AS s
      WHERE s.seqrelid = 'event_seq'::regclass AND (s.seqcache <> 1 OR s.seqincrement < 1)) THEN
    settled := NULL;  -- sessions have seqs in stock
    mark := NULL;
  END IF;

  -- A statement of its own: it sees what all who have ended by now have committed.
  SELECT array_agg(least(f.first, settled + 1) ORDER BY f.shard), bool_or(f.first IS NOT NULL) INTO floors, due
  FROM (
    SELECT s AS shard, (
      SELECT p.seq FROM event AS p
      WHERE p.shard = s AND p.status = 'pending' AND p.seq >= coalesce(floors[s + 1], 0)
      ORDER BY p.seq LIMIT 1) AS first
    FROM generate_series(0, 63) AS s) AS f;
  IF settled IS NULL THEN
    floors := NULL;
  END IF;
  due := due OR EXISTS (SELECT FROM event AS r WHERE r.status = 'pending' AND r.returned);
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
SET jit = off
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
                      AND hashtextextended(p.aggregate_id COLLATE "C", hashtextextended(p.aggregate_type COLLATE "C", 0))
                        = hashtextextended(follower.aggregate_id COLLATE "C",
                                           hashtextextended(follower.aggregate_type COLLATE "C", 0))
                      AND p.seq = h.seq);
  IF heads IS NULL THEN
    RETURN 0;
  END IF;
  UPDATE event AS e SET status = 'pending', behind = NULL, returned = true
  WHERE e.ctid = ANY (ARRAY(
    SELECT w.ctid FROM event AS w WHERE w.behind = ANY (heads)
    ORDER BY w.seq LIMIT most
    FOR UPDATE SKIP LOCKED));
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
