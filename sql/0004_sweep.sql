-- The relay's sweep: what is settled, what is due, whom nobody else would release; and the doorbell's locks, see ring_doorbell.

-- Finds out up to which seq all transactions have ended: no floor may pass one whose transaction is still open, for when it
-- commits, its event has to go before later ones of its aggregate.
--
-- Read the sequence (mark), then see who may write to the table at that time (writers); when they all have ended, mark is
-- settled. A transaction takes its seqs under the lock that is looked for (LOCK, section Table-Level Lock Modes), and gives
-- it back when its rows are visible. settled, mark, writers: what one call has found out, for the next one. They hold only
-- as long as the server does not lose commits: forget them when any connection was lost.
-- settled is null if it is not known; mark too, if seqs are not to be relied on: the sequence was set back, or sessions
-- have seqs in stock. contended: events have been written, and a commit waits to send its notification until another one, of any
-- database, has done so.
CREATE FUNCTION @schema@.settle(
  INOUT settled bigint DEFAULT NULL, INOUT mark bigint DEFAULT NULL, INOUT writers text[] DEFAULT NULL, OUT contended boolean)
LANGUAGE plpgsql
SET search_path = @schema@, pg_temp
AS $outboxd$
#variable_conflict use_variable
DECLARE
  last        bigint;
  now_writing text[];
  prepared    text[];
  gone        boolean;
BEGIN
  SELECT CASE WHEN s.is_called THEN s.last_value ELSE s.last_value - 1 END INTO last FROM event_seq AS s;
  contended := false;
  IF last < greatest(settled, mark) OR EXISTS (
      SELECT FROM pg_catalog.pg_sequence AS s
      WHERE s.seqrelid = 'event_seq'::regclass AND (s.seqcache <> 1 OR s.seqincrement < 1)) THEN
    settled := NULL;
    mark := NULL;
    writers := NULL;
    RETURN;
  END IF;
  IF last = settled THEN  -- nobody has written since
    mark := last;
    writers := '{}';
    RETURN;
  END IF;
  -- A relay's own update writes nothing new. A prepared transaction shows as -1/xid.
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
  END IF;
  IF mark IS NULL OR settled = last THEN
    mark := last;
    writers := now_writing;
  END IF;
END
$outboxd$;

-- Looks whether there is work: events that are due become pending again, at most max_due of them in one call.
-- due: there are pending events. woken: how many became pending. queues: there are events that stand behind another.
-- next_due: until the next waiting event is due, null if there is none. contended: see settle.
-- A relay calls it at every sweep interval; with nothing to do it only reads.
--
-- floors, settled, mark, writers, epoch: what one call has found out, for the next one and for the claims; see take_shards
-- and settle. Who does not know them gives null, and they come from claim_floor, which remembers enough for the floor
-- of all shards to rise from call to call. Null floors are returned if seqs are not to be relied on. A shard's floor rises
-- by at most 20,000 finished events in one call.
--
-- searched: a place in the order of shard and seq, from which on it also looks at the next 10,000 events for some that no claim
-- or sweep would find: pending below their floor, or of a status that does not show in aside. Only a hand at the sequence, or a session
-- without triggers, can have put them there. They are mended. Null: no search; and returned, when the end was reached.
CREATE FUNCTION @schema@.sweep(
  max_due integer, INOUT floors bigint[] DEFAULT NULL, INOUT settled bigint DEFAULT NULL, INOUT mark bigint DEFAULT NULL,
  INOUT writers text[] DEFAULT NULL, INOUT epoch bigint DEFAULT NULL, INOUT searched bigint[] DEFAULT NULL,
  OUT due boolean, OUT woken integer, OUT queues boolean, OUT next_due interval, OUT contended boolean)
LANGUAGE plpgsql
SET search_path = @schema@, pg_temp
SET enable_seqscan = off
SET jit = off
SET enable_bitmapscan = off
AS $outboxd$
#variable_conflict use_variable
DECLARE
  at         CONSTANT timestamptz := clock_timestamp();  -- the function itself is volatile and so never an index condition
  enough     CONSTANT bigint := 1000;
  read_only  CONSTANT boolean := current_setting('transaction_read_only') = 'on';
  kept       record;
  remembers  boolean;
  lowest     bigint;
  misplaced  tid[];
BEGIN
  woken := 0;
  IF EXISTS (SELECT FROM event AS w WHERE w.aside = 'waiting' AND w.behind IS NULL AND w.available_at <= at) THEN
    -- By their places: a join may be planned, while the table is small, in a way that reads all of it.
    UPDATE event AS e SET status = 'pending', aside = 'pending'
    WHERE e.ctid = ANY (ARRAY(
      SELECT w.ctid FROM event AS w
      WHERE w.aside = 'waiting' AND w.behind IS NULL AND w.available_at <= at
      ORDER BY w.available_at LIMIT max_due
      FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS woken = ROW_COUNT;
  END IF;

  SELECT coalesce(max(f.seq), 0) AS seq, max(f.mark) AS mark, max(f.writers) AS writers, max(f.epoch) AS epoch
  INTO kept FROM claim_floor AS f;
  remembers := coalesce(cardinality(floors) = 64 AND epoch = kept.epoch AND settled IS NOT NULL, false);
  IF NOT remembers THEN
    floors := array_fill(kept.seq, ARRAY[64]);
    settled := kept.seq - 1;
    mark := kept.mark;
    writers := kept.writers;
    epoch := kept.epoch;
  END IF;
  SELECT s.settled, s.mark, s.writers, s.contended INTO settled, mark, writers, contended
  FROM settle(settled, mark, writers) AS s;
  IF mark IS NULL THEN
    IF kept.seq > 0 AND NOT read_only THEN
      UPDATE claim_floor AS f SET seq = 0, mark = NULL, writers = NULL, epoch = f.epoch + 1;
    END IF;
    floors := array_fill(0::bigint, ARRAY[64]);
  END IF;

  -- A statement of its own: it sees what all who have ended by now have committed.
  SELECT array_agg(greatest(f.floor, least(coalesce(f.first, f.passed + 1), settled + 1)) ORDER BY f.shard),
         bool_or(f.first IS NOT NULL)
  INTO floors, due
  FROM (
    SELECT l.*, CASE WHEN l.first IS NULL THEN (  -- so many are finished that there may be more
      SELECT p.seq FROM event AS p
      WHERE p.shard = l.shard AND p.seq >= l.floor ORDER BY p.seq OFFSET 19999 LIMIT 1) END AS passed
    FROM (
      SELECT s AS shard, floors[s + 1] AS floor, (
        SELECT w.seq FROM (
          SELECT p.seq, p.status FROM event AS p
          WHERE p.shard = s AND p.seq >= floors[s + 1]
          ORDER BY p.seq LIMIT 20000) AS w
        WHERE w.status = 'pending' LIMIT 1) AS first
      FROM generate_series(0, 63) AS s
      OFFSET 0) AS l
    OFFSET 0) AS f;

  IF searched IS NOT NULL AND NOT read_only THEN
    SELECT array_agg(o.place) FILTER (
             WHERE o.aside IS DISTINCT FROM nullif(o.status, 'published')
               AND NOT (o.status = 'pending' AND o.seq >= floors[o.shard + 1])),
           CASE WHEN count(*) = 10000 THEN max(ARRAY[o.shard, o.seq]) END
    INTO misplaced, searched
    FROM (
      SELECT e.ctid AS place, e.shard::bigint, e.seq, e.status, e.aside FROM event AS e
      WHERE (e.shard, e.seq) > (searched[1]::smallint, searched[2])
      ORDER BY e.shard, e.seq LIMIT 10000) AS o;
    IF misplaced IS NOT NULL THEN
      UPDATE event AS e SET aside = nullif(e.status, 'published')
      WHERE e.ctid = ANY (ARRAY(SELECT p.ctid FROM event AS p WHERE p.ctid = ANY (misplaced) FOR UPDATE SKIP LOCKED));
    END IF;
  END IF;

  -- Not at every call: an old snapshot anywhere makes each version of this row one that its readers walk over.
  SELECT min(f) INTO lowest FROM unnest(floors) AS f;
  IF mark IS NOT NULL AND NOT read_only AND (lowest >= kept.seq + enough
     OR NOT remembers AND (lowest, mark, writers) IS DISTINCT FROM (kept.seq, kept.mark, kept.writers)) THEN
    PERFORM FROM claim_floor FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
      UPDATE claim_floor AS f SET seq = lowest, mark = sweep.mark, writers = sweep.writers
      WHERE f.seq = kept.seq AND f.epoch = kept.epoch;
    END IF;
  END IF;
  IF mark IS NULL THEN
    floors := NULL;
  END IF;
  due := due OR EXISTS (SELECT FROM event AS r WHERE r.aside = 'pending');
  queues := EXISTS (SELECT FROM event AS w WHERE w.behind IS NOT NULL);
  -- An infinite time cannot be subtracted from: -infinity is long ago, and infinity is never.
  SELECT nullif(greatest(w.available_at, 'epoch'), 'infinity') - at INTO next_due
  FROM event AS w WHERE w.aside = 'waiting' AND w.behind IS NULL
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
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $outboxd$
DECLARE
  shards   integer[];
  heads    bigint[];
  released integer;
BEGIN
  WITH RECURSIVE head(shard, seq) AS (
    (SELECT w.shard + 0, w.behind FROM event AS w WHERE w.behind IS NOT NULL ORDER BY w.shard + 0, w.behind LIMIT 1)
    UNION ALL
    SELECT n.shard, n.behind
    FROM head AS h
    CROSS JOIN LATERAL (
      SELECT w.shard + 0 AS shard, w.behind FROM event AS w
      WHERE (w.shard + 0, w.behind) > (h.shard, h.seq) AND w.behind IS NOT NULL
      ORDER BY w.shard + 0, w.behind LIMIT 1) AS n)
  SELECT array_agg(h.shard), array_agg(h.seq) INTO shards, heads
  FROM head AS h
  WHERE NOT EXISTS (SELECT FROM event AS p
                    WHERE p.shard = h.shard::smallint AND p.seq = h.seq AND p.status IN ('pending', 'waiting'));
  IF heads IS NULL THEN
    RETURN 0;
  END IF;
  UPDATE event AS e SET status = 'pending', behind = NULL, aside = 'pending'
  WHERE e.ctid = ANY (ARRAY(
    SELECT w.ctid
    FROM unnest(shards, heads) AS h(shard, seq)
    JOIN event AS w ON w.shard + 0 = h.shard AND w.behind = h.seq
    ORDER BY w.seq LIMIT most
    FOR UPDATE OF w SKIP LOCKED));
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
