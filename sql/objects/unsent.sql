-- The operators' side of unsent events: cancel, postpone or edit them. As in operator.sql, each call changes
-- the events that it names in one transaction, which should be a few thousand at most.
--
-- A relay that read such an event more than a second ago detects the change before it sends the event.
-- Otherwise the event may still be sent in its former version. Its mark then reports that
-- (changed_after_send).

-- Locks and returns those of the given events that wait to be sent. The functions below change them.
CREATE OR REPLACE FUNCTION @schema@.unsent(ids uuid[], seqs bigint[]) RETURNS TABLE (id uuid, seq bigint)
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $outboxd$
  SELECT w.id, w.seq FROM @schema@.event AS w
  WHERE w.id = ANY (ids) AND (seqs IS NULL OR w.seq = ANY (seqs)) AND w.status IN ('pending', 'waiting')
  ORDER BY w.id, w.seq FOR UPDATE;
$outboxd$;

-- The events become dead (`cancelled`), and block no other events, whatever relay.after_dead says.
-- `dead_retry` reverses the cancellation. Here and below, the functions return the events that were not
-- published yet.
CREATE OR REPLACE FUNCTION @schema@.events_cancel(ids uuid[], audit bigint DEFAULT NULL,
  seqs bigint[] DEFAULT NULL)
RETURNS TABLE (changed_id uuid, changed_seq bigint) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $outboxd$
DECLARE
  changed bigint;
BEGIN
  PERFORM @schema@.require_role('outbox_operator');
  RETURN QUERY UPDATE @schema@.event AS e
  SET status = 'dead', exception = 'dead', last_error_code = 'cancelled',
      last_error = left('cancelled by ' || @schema@.audit_who(), 1000)
  FROM @schema@.unsent(ids, seqs) AS k
  WHERE e.id = k.id AND e.seq = k.seq AND e.status IN ('pending', 'waiting')
  RETURNING e.id, e.seq;
  GET DIAGNOSTICS changed = ROW_COUNT;
  PERFORM @schema@.audit_count(audit, 'cancel', @schema@.audit_ids(ids), changed);
  IF changed > 0 THEN
    PERFORM @schema@.tell_relays('due');
  END IF;
END
$outboxd$;

-- The events become scheduled for this time, and block no other events until then, regardless of what they
-- waited for.
CREATE OR REPLACE FUNCTION @schema@.events_postpone(ids uuid[], until timestamptz, audit bigint DEFAULT NULL,
  seqs bigint[] DEFAULT NULL)
RETURNS TABLE (changed_id uuid, changed_seq bigint) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $outboxd$
DECLARE
  changed bigint;
BEGIN
  PERFORM @schema@.require_role('outbox_operator');
  IF until IS NULL OR until <= clock_timestamp() OR until = 'infinity' THEN
    RAISE invalid_parameter_value USING
      MESSAGE = format('events cannot be postponed to %s', coalesce(until::text, 'null')),
      HINT = 'Give a time to come. What is never to go out is cancelled.';
  END IF;
  RETURN QUERY UPDATE @schema@.event AS e
  SET status = 'waiting', exception = 'scheduled', available_at = until, first_failed_at = NULL,
      waits_for = NULL
  FROM @schema@.unsent(ids, seqs) AS k
  WHERE e.id = k.id AND e.seq = k.seq AND e.status IN ('pending', 'waiting')
  RETURNING e.id, e.seq;
  GET DIAGNOSTICS changed = ROW_COUNT;
  PERFORM @schema@.audit_count(audit, 'postpone', @schema@.audit_ids(ids), changed);
  IF changed > 0 THEN
    PERFORM @schema@.tell_relays('due');
  END IF;
END
$outboxd$;

-- Replaces payload, headers, type, exchange and routing key of the events. Null does not change a value. If
-- by_route is true, exchange and routing key are first set to null, so that the routes decide. An event that
-- waits for its destination is retried at once, because it may have another destination now. If retry is
-- true, the events are dead, and are also retried, as by dead_retry. Otherwise they are events that were not
-- sent yet.
CREATE OR REPLACE FUNCTION @schema@.events_edit(ids uuid[], payload @payload_type@ DEFAULT NULL,
  headers jsonb DEFAULT NULL, event_type text DEFAULT NULL, exchange text DEFAULT NULL,
  routing_key text DEFAULT NULL, by_route boolean DEFAULT false, audit bigint DEFAULT NULL,
  seqs bigint[] DEFAULT NULL, retry boolean DEFAULT false)
RETURNS TABLE (changed_id uuid, changed_seq bigint) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $outboxd$
#variable_conflict use_variable
DECLARE
  changed bigint;
  edited_ids uuid[];
  edited_seqs bigint[];
BEGIN
  PERFORM @schema@.require_role('outbox_operator');
  IF event_type = '' OR jsonb_typeof(headers) <> 'object' THEN
    RAISE invalid_parameter_value USING
      MESSAGE = CASE WHEN event_type = '' THEN 'the event_type of an event is not empty'
                ELSE 'the headers of an event are a JSON object' END;
  END IF;
  IF retry THEN
    SELECT array_agg(k.id), array_agg(k.seq) INTO edited_ids, edited_seqs
    FROM (
      SELECT w.id, w.seq FROM @schema@.event AS w
      WHERE w.id = ANY (ids) AND (seqs IS NULL OR w.seq = ANY (seqs)) AND w.status = 'dead'
      ORDER BY w.id, w.seq FOR UPDATE) AS k;
  ELSE
    SELECT array_agg(k.id), array_agg(k.seq) INTO edited_ids, edited_seqs
    FROM @schema@.unsent(ids, seqs) AS k;
  END IF;
  RETURN QUERY UPDATE @schema@.event AS e
  SET payload = coalesce(payload, e.payload), headers = coalesce(headers, e.headers),
      event_type = coalesce(event_type, e.event_type),
      exchange = coalesce(exchange, CASE WHEN by_route IS NOT TRUE THEN e.exchange END),
      routing_key = coalesce(routing_key, CASE WHEN by_route IS NOT TRUE THEN e.routing_key END),
      replay_exchange = CASE WHEN by_route IS NOT TRUE AND exchange IS NULL THEN e.replay_exchange END,
      replay_routing_key =
        CASE WHEN by_route IS NOT TRUE AND routing_key IS NULL THEN e.replay_routing_key END,
      available_at = CASE WHEN e.exception = 'backing_off' AND e.waits_for IS NOT NULL THEN clock_timestamp()
                     ELSE e.available_at END,
      first_failed_at = NULL, waits_for = NULL, failed_exchange = NULL, failed_routing_key = NULL
  FROM unnest(edited_ids, edited_seqs) AS k (id, seq)
  WHERE e.id = k.id AND e.seq = k.seq AND e.status <> 'published'
  RETURNING e.id, e.seq;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF retry THEN
    PERFORM @schema@.requeue(edited_ids, 'dead', NULL, NULL, edited_seqs);
  END IF;
  PERFORM @schema@.audit_count(audit, 'edit', @schema@.audit_ids(ids), changed);
  IF changed > 0 THEN
    PERFORM @schema@.tell_relays('due');
  END IF;
END
$outboxd$;
