-- The relay's claim, its floor, and the mark of what was published.
--
-- Advisory locks: key 1 is the oid of the event table, so that two outboxes and the application's own locks do not
-- meet; key 2 is the shard, 0 to 63, or one of the doorbell's (64 to 66, see ring_doorbell).

-- A claim is two statements of one READ COMMITTED transaction, or in claim_few two queries: take_shards locks shards, and the next one reads their events,
-- with a snapshot younger than the locks: it sees everything that earlier owners of these shards have finished or released.
-- Nothing is written: the claim is the advisory locks, held until the transaction ends.
--
-- Finished events stay in the index that claims read, so that to mark one published costs no index entry. Therefore each
-- shard has a floor: a seq below which nothing is pending nor can become so, but events that are aside. A claim begins
-- there, and tells where the next one may begin. Relays keep the floors in memory, see sweep. claim_floor is one floor for
-- all shards, for a relay that has just started or that works behind a pooler; it rises with the sweeps.
CREATE TABLE @schema@.claim_floor (
  only_row boolean NOT NULL DEFAULT true PRIMARY KEY CHECK (only_row),
  seq      bigint  NOT NULL,
  mark     bigint,           -- what settle has found out, for callers that remember nothing
  writers  text[],
  epoch    bigint  NOT NULL DEFAULT 0  -- another one: forget all floors
);
COMMENT ON TABLE @schema@.claim_floor IS 'Internal: below this seq no event is pending; see docs/design.md.';
INSERT INTO @schema@.claim_floor (seq) VALUES (0);

-- After TRUNCATE the sequence may begin again.
CREATE FUNCTION @schema@.forget_floor() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = @schema@, pg_temp
AS $outboxd$
BEGIN
  UPDATE claim_floor SET seq = 0, mark = NULL, writers = NULL, epoch = epoch + 1;
  RETURN NULL;
END
$outboxd$;

CREATE TRIGGER event_truncated AFTER TRUNCATE ON @schema@.event
  FOR EACH STATEMENT EXECUTE FUNCTION @schema@.forget_floor();

-- Locks up to max_shards shards that have pending events, and returns them. None: there is nothing to do, or others do it,
-- or the server is read-only: what was published there could not be marked, and would be published again and again.
-- They are also in the setting outboxd.shards until the transaction ends, for claimed, and so are the starts and the first
-- pending seq of these shards.
-- floors: one for each shard, in order, and settled: a seq up to which all transactions have ended, see settle; both as they
-- are known to the caller, or null. starts: for each of the shards returned, where the claim begins, which is the shard's
-- floor from now on. lowest: a floor for all shards, null if it was not looked for. held: bit n is set if the caller's other
-- sessions have locked shard n, so that it is of no use to look there.
--
-- There are two ways to look. If few events are younger than the lowest floor, they are all looked at, with one scan; else
-- each shard by itself, with 64 of them. Both begin at a random shard: lanes that begin at different ones seldom meet.
--
-- The queries have one right plan, through the indexes. To be called with enable_seqscan, enable_bitmapscan and jit off and
-- plan_cache_mode = force_generic_plan; settings of the function itself would cost each claim some microseconds.
CREATE FUNCTION @schema@.take_shards(
  max_shards integer, floors bigint[] DEFAULT NULL, settled bigint DEFAULT NULL, INOUT lowest bigint DEFAULT NULL,
  held bigint DEFAULT 0,
  OUT shards bigint[], OUT starts bigint[])
LANGUAGE plpgsql AS $outboxd$
#variable_conflict use_variable
DECLARE
  few           CONSTANT bigint := 2000;
  first_shard   CONSTANT integer := floor(random() * 64);
  lock_class    CONSTANT integer := format('%I.event', @schema_text@)::regclass::oid::integer;
  settled_floor bigint := coalesce(settled + 1, 0);
  looked        boolean;
  due           integer[];
  firsts        bigint[];  -- of those that are due
  which         integer;
  first_of_all  bigint;
  first_taken   bigint;
  said          text;
BEGIN
  IF floors IS NULL OR cardinality(floors) <> 64 THEN
    settled_floor := 0;
    lowest := NULL;
    floors := array_fill(coalesce((SELECT f.seq FROM @schema@.claim_floor AS f), 0), ARRAY[64]);
  END IF;
  IF current_setting('transaction_read_only') = 'on' THEN
    max_shards := 0;
  END IF;
  -- As little as possible, for with few events that is what each of them waits for.
  IF lowest IS NOT NULL THEN
    SELECT y.enough, d.shards, d.firsts, d.first_of_all INTO looked, due, firsts, first_of_all
    FROM (
      SELECT s.last_value < lowest + few AND NOT EXISTS (SELECT FROM @schema@.event AS r WHERE r.aside = 'pending') AS enough
      FROM @schema@.event_seq AS s
      OFFSET 0) AS y
    CROSS JOIN LATERAL (
      SELECT array_agg(s.shard::integer) AS shards, array_agg(s.low) AS firsts, min(s.low) AS first_of_all
      FROM (
        SELECT e.shard, min(e.seq) AS low
        FROM (
          SELECT n.shard, n.seq FROM @schema@.event AS n
          WHERE y.enough AND n.seq + 0 >= lowest AND n.status = 'pending' AND n.seq >= floors[n.shard + 1]
          ORDER BY n.seq + 0 LIMIT few) AS e
        GROUP BY e.shard) AS s) AS d;
  END IF;

  IF looked THEN
    lowest := greatest(lowest, least(first_of_all, settled_floor));
    shards := '{}';
    starts := '{}';
    FOR i IN 1 .. coalesce(cardinality(due), 0) LOOP
      EXIT WHEN cardinality(shards) >= max_shards;
      which := 1 + (first_shard + i) % cardinality(due);
      IF pg_try_advisory_xact_lock(lock_class, due[which]) THEN
        shards := shards || due[which]::bigint;
        starts := starts || greatest(floors[due[which] + 1], least(firsts[which], settled_floor));
        first_taken := least(first_taken, firsts[which]);
      END IF;
    END LOOP;
  ELSE
    lowest := NULL;
    -- The subqueries cannot be flattened, so that the lock function runs for shards with work alone.
    SELECT coalesce(array_agg(l.shard), '{}'), coalesce(array_agg(greatest(l.floor, least(l.first, settled_floor))), '{}'),
           min(l.first)
    INTO shards, starts, first_taken
    FROM (
      SELECT d.*
      FROM (
        SELECT c.*
        FROM (
          SELECT s.shard, floors[s.shard + 1] AS floor,
                 (SELECT e.seq FROM @schema@.event AS e
                  WHERE e.shard = s.shard AND e.status = 'pending' AND e.seq >= floors[s.shard + 1]
                  ORDER BY e.seq LIMIT 1) AS first,
                 returned.found AND EXISTS (
                   SELECT FROM @schema@.event AS r
                   WHERE r.shard + 0 = s.shard AND r.aside = 'pending' AND r.status = 'pending') AS again
          FROM (SELECT EXISTS (SELECT FROM @schema@.event AS r WHERE r.aside = 'pending') AS found OFFSET 0) AS returned
          CROSS JOIN (SELECT ((first_shard + i) % 64)::smallint AS shard FROM generate_series(0, 63) AS i) AS s
          WHERE held >> s.shard & 1 = 0
          OFFSET 0) AS c
        WHERE c.first IS NOT NULL OR c.again
        OFFSET 0) AS d
      WHERE pg_try_advisory_xact_lock(lock_class, d.shard)
      LIMIT max_shards) AS l;
  END IF;
  said := set_config('outboxd.shards', shards::text, true);
  said := set_config('outboxd.starts', starts::text, true);
  said := set_config('outboxd.first', coalesce(first_taken::text, ''), true);
END
$outboxd$;

-- The oldest events of the shards that take_shards has locked, at most batch of them: shard after shard, those of each in
-- seq order. Each shard has its part of the batch, but a sixteenth of it at least: where one has much to do, the others
-- often have little. None: others had finished all there was. End the transaction and claim again then: who came for an
-- event that was committed meanwhile has found its shard locked and gone away.
--
-- An event whose size is above `largest` comes without its texts: so at most batch times that is read. Who meets one asks
-- again in the same transaction, with no such limit but with one for the sum, as the relay does. To sum up for every claim
-- would cost a fifth of it, for the sum needs a copy of each row.
--
-- Not for sorting, nor in PL/pgSQL, which would copy every event: written so that the planner puts it into the query that
-- calls it. To be called with enable_seqscan, enable_bitmapscan and jit off.
CREATE FUNCTION @schema@.claimed(batch integer, largest bigint)
RETURNS TABLE (
  id              uuid,
  place           tid,      -- the row's ctid: the quickest way back to it
  shard           smallint,
  seq             bigint,
  aggregate_type  text,
  aggregate_id    text,     -- null: too large
  event_type      text,
  payload         @payload_octets@,  -- null, and so are the headers, if the event is not to be published: see behind
  headers         text,
  exchange        text,
  routing_key     text,
  attempts        integer,
  nacks           smallint,
  created_at      timestamptz,
  behind          bigint,   -- not to be published: the seq of an earlier waiting event of its aggregate
  has_followers   boolean,  -- events of its shard stand behind another: who finishes it has to release those behind it
  size            integer   -- bytes of its texts
) LANGUAGE sql STABLE AS $outboxd$
  SELECT p.id, p.place, p.shard, p.seq,
         CASE WHEN p.size <= largest THEN p.aggregate_type END, CASE WHEN p.size <= largest THEN p.aggregate_id END,
         CASE WHEN p.size <= largest THEN p.event_type END, CASE WHEN p.size <= largest THEN p.payload END,
         CASE WHEN p.size <= largest THEN p.headers END, CASE WHEN p.size <= largest THEN p.exchange END,
         CASE WHEN p.size <= largest THEN p.routing_key END,
         p.attempts, p.nacks, p.created_at, p.behind, p.has_followers, p.size
  FROM (
    SELECT e.*, coalesce(octet_length(e.payload), 0) + coalesce(octet_length(e.headers), 0)
             + octet_length(e.aggregate_type) + octet_length(e.aggregate_id) + octet_length(e.event_type)
             + coalesce(octet_length(e.exchange), 0) + coalesce(octet_length(e.routing_key), 0) AS size
    FROM (
      SELECT d.id, d.place, d.shard, d.seq, d.aggregate_type, d.aggregate_id, d.event_type,
             CASE WHEN d.waits_for IS NULL THEN d.payload::@payload_octets@ END AS payload,
             CASE WHEN d.waits_for IS NULL THEN d.headers::text END AS headers,
             d.exchange, d.routing_key, d.attempts, d.nacks, d.created_at, d.waits_for AS behind, s.has_followers
      FROM (
        SELECT EXISTS (SELECT FROM @schema@.event AS w WHERE w.aside = 'waiting') AS wait,
               EXISTS (SELECT FROM @schema@.event AS w WHERE w.behind IS NOT NULL) AS follow,
               EXISTS (SELECT FROM @schema@.event AS r WHERE r.aside = 'pending') AS returned,
               current_setting('outboxd.shards')::smallint[] AS shards,
               current_setting('outboxd.starts')::bigint[] AS starts
        OFFSET 0) AS there
      CROSS JOIN LATERAL (
        SELECT o.shard,
               there.follow AND (  -- not EXISTS, which the planner may take for a list of all followers
                 SELECT true FROM @schema@.event AS w WHERE w.shard + 0 = o.shard AND w.behind IS NOT NULL
                 LIMIT 1) IS NOT NULL
                 AS has_followers,
               o.start
        FROM unnest(there.shards, there.starts) AS o(shard, start)
        OFFSET 0) AS s
      CROSS JOIN LATERAL (
        SELECT q.*,
               CASE WHEN there.wait THEN (
                 SELECT w.seq FROM @schema@.event AS w
                 WHERE w.aside = 'waiting'
                   AND hashtextextended(w.aggregate_id COLLATE "C", hashtextextended(w.aggregate_type COLLATE "C", 0))
                     = hashtextextended(q.aggregate_id COLLATE "C", hashtextextended(q.aggregate_type COLLATE "C", 0))
                   AND w.aggregate_id = q.aggregate_id AND w.aggregate_type = q.aggregate_type
                   AND w.seq < q.seq
                 ORDER BY w.seq LIMIT 1) END AS waits_for
        FROM (
          (SELECT r.ctid AS place, r.* FROM @schema@.event AS r  -- pending again, before where the claim begins
           WHERE there.returned AND r.shard + 0 = s.shard AND r.aside = 'pending' AND r.status = 'pending' AND r.seq < s.start
           ORDER BY r.seq)
          UNION ALL
          (SELECT n.ctid AS place, n.* FROM @schema@.event AS n
           WHERE n.shard = s.shard AND n.status = 'pending' AND n.seq >= s.start
           ORDER BY n.seq)) AS q
        LIMIT greatest(ceil(batch::numeric / cardinality(there.shards)), batch / 16)) AS d
      LIMIT batch) AS e
    OFFSET 0) AS p
$outboxd$;

-- Is every event on the straight way? Else a claim has to look what goes before what.
CREATE FUNCTION @schema@.nothing_aside() RETURNS boolean LANGUAGE plpgsql STABLE
SET enable_indexscan = on
SET enable_bitmapscan = off
AS $outboxd$
BEGIN
  RETURN NOT EXISTS (SELECT FROM @schema@.event AS w WHERE w.aside = 'waiting')
     AND NOT EXISTS (SELECT FROM @schema@.event AS w WHERE w.behind IS NOT NULL)
     AND NOT EXISTS (SELECT FROM @schema@.event AS r WHERE r.aside = 'pending');
END
$outboxd$;

-- The same in bulk: not shard after shard, but all of a range of seqs, page after page, in no order. In a backlog that takes a
-- quarter off what claims cost, for much of it is the way from one page to the next: events of one shard are seldom in the same
-- page. A shard that is ahead of the range has no part, so its caller sees to it that this does not last. The range is one in
-- which not quite `batch` events are to be expected if all seqs are pending and spread evenly over the 64 shards; there may be more,
-- up to four times batch, which is the most seqs that a range has. So at most four times batch times `largest` is read, without a
-- sum.
--
-- None if the range has none, or if any event is aside: those need what `claimed` does. So nothing is behind another one and has
-- followers. As for the rest, see there.
--
-- To be called with enable_seqscan and enable_indexscan off and enable_bitmapscan on: that leaves the planner one way, through
-- event_order.
CREATE FUNCTION @schema@.claimed_in_bulk(batch integer, largest bigint)
RETURNS TABLE (
  id uuid, place tid, shard smallint, seq bigint, aggregate_type text, aggregate_id text, event_type text,
  payload @payload_octets@, headers text, exchange text, routing_key text, attempts integer, nacks smallint,
  created_at timestamptz
) LANGUAGE sql STABLE AS $outboxd$
  SELECT p.id, p.place, p.shard, p.seq,
         CASE WHEN p.size <= largest THEN p.aggregate_type END, CASE WHEN p.size <= largest THEN p.aggregate_id END,
         CASE WHEN p.size <= largest THEN p.event_type END, CASE WHEN p.size <= largest THEN p.payload END,
         CASE WHEN p.size <= largest THEN p.headers END, CASE WHEN p.size <= largest THEN p.exchange END,
         CASE WHEN p.size <= largest THEN p.routing_key END, p.attempts, p.nacks, p.created_at
  FROM (
    SELECT e.*, octet_length(e.payload) + octet_length(e.headers)
             + octet_length(e.aggregate_type) + octet_length(e.aggregate_id) + octet_length(e.event_type)
             + coalesce(octet_length(e.exchange), 0) + coalesce(octet_length(e.routing_key), 0) AS size
    FROM (
      SELECT nullif(current_setting('outboxd.shards'), '{}')::smallint[] AS shards,
             (SELECT min(s) FROM unnest(current_setting('outboxd.starts')::bigint[]) AS s) AS start,
             nullif(current_setting('outboxd.first'), '')::bigint AS first
      WHERE @schema@.nothing_aside()
      OFFSET 0) AS there
    CROSS JOIN LATERAL (
      SELECT n.id, n.ctid AS place, n.shard, n.seq, n.aggregate_type, n.aggregate_id, n.event_type,
             n.payload::@payload_octets@ AS payload, n.headers::text AS headers, n.exchange, n.routing_key, n.attempts, n.nacks,
             n.created_at
      FROM @schema@.event AS n
      WHERE n.shard = ANY (there.shards) AND n.status = 'pending' AND n.seq >= there.start
        AND n.seq < least(there.first + batch::bigint * 60 / cardinality(there.shards), there.start + batch::bigint * 4)
      OFFSET 0) AS e
    OFFSET 0) AS p
$outboxd$;

-- A whole claim in one statement, where there is little to do and it is this that each event waits for: locks shards and
-- returns their events, those of each shard in seq order. It does a third of the work of take_shards and claimed. The parameters
-- are as there; the floors have to be known.
--
-- One row of nulls: this is for those two, in a new transaction. There are more than `most` events, or many finished ones above
-- the lowest floor, or some event is waiting or pending again, or others have just finished what was there.
CREATE FUNCTION @schema@.claim_few(most integer, largest bigint, floors bigint[], settled bigint, lowest bigint)
RETURNS TABLE (
  id uuid, place tid, shard smallint, seq bigint, aggregate_type text, aggregate_id text, event_type text,
  payload @payload_octets@, headers text, exchange text, routing_key text, attempts integer, nacks smallint,
  created_at timestamptz,
  floor bigint  -- for all shards, from now on
) LANGUAGE plpgsql AS $outboxd$
#variable_conflict use_column
DECLARE
  longest_look CONSTANT bigint := 500;
  looked_at    bigint;
  first        bigint;      -- the oldest pending event, whoever has its shard
  taken        smallint[];  -- the shards of those that this claim may have, one for each
  start        bigint;
BEGIN
  IF current_setting('transaction_read_only') = 'on' THEN
    RETURN;
  END IF;
  SELECT count(*), min(l.seq) FILTER (WHERE l.got IS NOT NULL), array_agg(l.shard) FILTER (WHERE l.got)
  INTO looked_at, first, taken
  FROM (
    SELECT y.shard, y.seq, CASE WHEN y.status = 'pending' AND y.seq >= floors[y.shard + 1]
                                THEN pg_try_advisory_xact_lock(y.tableoid::integer, y.shard) END AS got
    FROM (
      SELECT n.tableoid, n.shard, n.seq, n.status FROM @schema@.event AS n
      WHERE n.seq + 0 >= lowest
      ORDER BY n.seq + 0 LIMIT longest_look) AS y
    OFFSET 0) AS l;
  IF looked_at = longest_look OR cardinality(taken) > most THEN
    RETURN NEXT;
    RETURN;
  END IF;
  IF taken IS NULL THEN
    IF EXISTS (SELECT FROM @schema@.event AS r WHERE r.aside = 'pending') THEN  -- it may be below the floor
      RETURN NEXT;
    END IF;
    RETURN;
  END IF;
  -- The second look has a snapshot younger than the locks, and may see what the first one could not: an event with a lower seq than
  -- the first one, and a later one of its aggregate.
  start := greatest(lowest, least(first, settled + 1));
  RETURN QUERY
    SELECT p.id, p.place, p.shard, p.seq,
           CASE WHEN p.size <= largest THEN p.aggregate_type END, CASE WHEN p.size <= largest THEN p.aggregate_id END,
           CASE WHEN p.size <= largest THEN p.event_type END, CASE WHEN p.size <= largest THEN p.payload END,
           CASE WHEN p.size <= largest THEN p.headers END, CASE WHEN p.size <= largest THEN p.exchange END,
           CASE WHEN p.size <= largest THEN p.routing_key END, p.attempts, p.nacks, p.created_at, start
    FROM (
      SELECT e.*, octet_length(e.payload) + octet_length(e.headers)
               + octet_length(e.aggregate_type) + octet_length(e.aggregate_id) + octet_length(e.event_type)
               + coalesce(octet_length(e.exchange), 0) + coalesce(octet_length(e.routing_key), 0) AS size
      FROM (
        SELECT n.id, n.ctid AS place, n.shard, n.seq, n.aggregate_type, n.aggregate_id, n.event_type,
               n.payload::@payload_octets@ AS payload, n.headers::text AS headers, n.exchange, n.routing_key, n.attempts, n.nacks,
               n.created_at
        FROM @schema@.event AS n
        WHERE NOT EXISTS (SELECT FROM @schema@.event AS w WHERE w.aside = 'waiting')
          AND NOT EXISTS (SELECT FROM @schema@.event AS r WHERE r.aside = 'pending')
          AND n.shard = ANY (taken) AND n.seq >= start AND n.status = 'pending'
        ORDER BY n.shard, n.seq LIMIT most) AS e
      OFFSET 0) AS p;
  IF NOT FOUND THEN
    RETURN NEXT;
  END IF;
END
$outboxd$;

-- What a claim ends with: these events are published. By their places, or if some have moved, by their ids: a place that is
-- out of date holds another row or none.
--
-- To be called with enable_seqscan, enable_bitmapscan, enable_mergejoin and jit off. Its own settings then leave the planner one
-- way: the rows by their places, joined with a hash of the ids. With index scans it might, on an empty table, prepare to read
-- all of the primary key's index instead.
CREATE FUNCTION @schema@.mark_published(ids uuid[], places tid[]) RETURNS void LANGUAGE plpgsql
SET enable_hashjoin = on
SET enable_nestloop = off
SET enable_indexscan = off
AS $outboxd$
DECLARE
  marked bigint;
BEGIN
  UPDATE @schema@.event AS e SET status = 'published', aside = NULL, published_at = clock_timestamp()
  FROM unnest(ids) AS c(id)
  WHERE e.ctid = ANY (places) AND e.id = c.id;
  GET DIAGNOSTICS marked = ROW_COUNT;
  IF marked < cardinality(ids) THEN
    PERFORM set_config('enable_indexscan', 'on', true);
    UPDATE @schema@.event AS e SET status = 'published', aside = NULL, published_at = clock_timestamp()
    WHERE e.id = ANY (ids) AND e.status <> 'published';
  END IF;
END
$outboxd$;

-- The same where published events are not kept.
CREATE FUNCTION @schema@.delete_published(ids uuid[], places tid[]) RETURNS void LANGUAGE plpgsql
SET enable_hashjoin = on
SET enable_nestloop = off
SET enable_indexscan = off
AS $outboxd$
DECLARE
  deleted bigint;
BEGIN
  DELETE FROM @schema@.event AS e USING unnest(ids) AS c(id)
  WHERE e.ctid = ANY (places) AND e.id = c.id;
  GET DIAGNOSTICS deleted = ROW_COUNT;
  IF deleted < cardinality(ids) THEN
    PERFORM set_config('enable_indexscan', 'on', true);
    DELETE FROM @schema@.event AS e WHERE e.id = ANY (ids);
  END IF;
END
$outboxd$;
