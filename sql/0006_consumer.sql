-- The consumers' side: an effect once, however often its event is delivered.

CREATE TABLE @schema@.processed_event (
  consumer_name  text        NOT NULL,
  event_id       uuid        NOT NULL,
  processed_at   timestamptz NOT NULL DEFAULT now(),

  CONSTRAINT processed_event_pkey PRIMARY KEY (consumer_name, event_id),
  CONSTRAINT processed_event_consumer_name_not_empty CHECK (consumer_name <> '')
);

COMMENT ON TABLE @schema@.processed_event IS 'What consumers have processed: see first_time.';

-- What pruning by age reads.
CREATE INDEX processed_event_age ON @schema@.processed_event (processed_at);

-- True if this consumer has not processed this event yet; then it is recorded, in the caller's transaction. A
-- consumer calls it in the transaction that applies the event's effect, and applies the effect only if it is
-- true. Whatever rolls the effect back takes the record with it, so true is returned in exactly one
-- transaction that commits.
--
-- While another transaction that got true is still open, the call waits for its end: false if it commits,
-- true if it rolls back. That is READ COMMITTED. In REPEATABLE READ and SERIALIZABLE, where the caller's
-- snapshot may be older than the other's commit, the call fails with 40001 instead of returning false, and
-- the transaction has to be run again, as these levels ask for anyway.
--
-- It runs with the caller's own rights, which need no more than the INSERT: see docs/consuming.md.
CREATE FUNCTION @schema@.first_time(consumer_name text, event_id uuid) RETURNS boolean
LANGUAGE plpgsql AS $outboxd$
BEGIN
  INSERT INTO @schema@.processed_event (consumer_name, event_id)
  VALUES (first_time.consumer_name, first_time.event_id)
  ON CONFLICT DO NOTHING;
  RETURN FOUND;
END
$outboxd$;

-- Deletes at most `most` records of events that were processed before older_than and not before `from_time`,
-- the oldest first; those that somebody has locked stay. Says how many, and up to which time: what comes next
-- need not go through what was deleted here once more. For prune_processed, and for the relay
-- (retention.processed).
CREATE FUNCTION @schema@.forget_processed(from_time timestamptz, older_than timestamptz, most integer,
  OUT records bigint, OUT reached timestamptz)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
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
-- audit_count is one of 0007_operator.sql.
CREATE FUNCTION @schema@.prune_processed(older_than timestamptz, most integer, audit bigint DEFAULT NULL)
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
