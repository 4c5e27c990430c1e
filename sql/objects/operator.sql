-- The operators' side: audit, dead letters, replay, pauses, pruning. Each call changes the events that it
-- names in one transaction, which should be a few thousand at most, in READ COMMITTED.

-- Uses session_user, because current_user is the owner in a function that runs with the owner's rights.
CREATE OR REPLACE FUNCTION @schema@.audit_who() RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $outboxd$
  SELECT format('%s (%s, %s)', session_user,
                coalesce(nullif(current_setting('application_name'), ''), 'no application name'),
                coalesce(host(inet_client_addr()), 'local socket'));
$outboxd$;

-- Writes one audit row and returns its id. Texts are truncated to limit the size of the row.
CREATE OR REPLACE FUNCTION @schema@.audit_write(what text, selection text, events bigint,
  reason text DEFAULT NULL,
  detail jsonb DEFAULT NULL)
RETURNS bigint LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $outboxd$
  INSERT INTO @schema@.audit (who, what, selection, events, reason, detail)
  VALUES (@schema@.audit_who(), what, left(selection, 4000), events, left(reason, 4000), detail)
  RETURNING id;
$outboxd$;

-- Creates the audit row of a command that changes events in portions, and returns its id. The functions below
-- add to the counts in that row.
CREATE OR REPLACE FUNCTION @schema@.audit_begin(what text, selection text, reason text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $outboxd$
BEGIN
  PERFORM @schema@.require_role('outbox_operator');
  IF what IS NULL OR what NOT IN ('retry', 'discard', 'replay', 'prune', 'cancel', 'postpone', 'edit') THEN
    RAISE invalid_parameter_value USING
      MESSAGE = format('no command of an operator is called %L', what),
      HINT = 'There are retry, discard, replay, prune, cancel, postpone and edit.';
  END IF;
  IF NOT EXISTS (SELECT FROM pg_prepared_statements AS p WHERE p.name = 'outboxd_audit') THEN
    PREPARE outboxd_audit AS SELECT 1;
  END IF;
  RETURN @schema@.audit_write(what, selection, 0, reason);
END
$outboxd$;

-- Adds a portion to the row that the same session has created for the same kind of command. Without such a
-- row, the portion gets a row of its own, unless nothing was changed. `records`: the number of records of
-- processed events, which are not events. Rows of earlier sessions are recognized because they are older than
-- the statement that audit_begin prepares: nobody can choose the time of that statement. (pg_stat_activity
-- does not necessarily show the owner of these functions when another user's session began.)
CREATE OR REPLACE FUNCTION @schema@.audit_count(audit bigint, what text, selection text, events bigint,
  records bigint DEFAULT 0)
RETURNS bigint LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $outboxd$
#variable_conflict use_variable
DECLARE
  row_id bigint := audit;
BEGIN
  IF audit IS NOT NULL THEN
    UPDATE @schema@.audit AS a
    SET events = a.events + events,
        detail = CASE WHEN records = 0 THEN a.detail
                 ELSE coalesce(a.detail, '{}') || jsonb_build_object('processed_events',
                   coalesce((a.detail ->> 'processed_events')::bigint, 0) + records) END
    WHERE a.id = audit AND a.what = what AND a.who = @schema@.audit_who()
      AND a.at >= (SELECT p.prepare_time FROM pg_prepared_statements AS p WHERE p.name = 'outboxd_audit');
    IF NOT FOUND THEN
      RAISE insufficient_privilege USING
        MESSAGE = format('row %s of the audit is not one that this session has opened for %s', audit, what);
    END IF;
  ELSIF events > 0 OR records > 0 THEN
    row_id := @schema@.audit_write(what, selection, events, NULL,
      CASE WHEN records > 0 THEN jsonb_build_object('processed_events', records) END);
  END IF;
  RETURN row_id;
END
$outboxd$;

-- The selection, for a caller without a command line: the first ids, and their number.
CREATE OR REPLACE FUNCTION @schema@.audit_ids(ids uuid[]) RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $outboxd$
  SELECT '--id ' || array_to_string(ids[1:10], ' --id ')
         || CASE WHEN cardinality(ids) > 10 THEN format(' (the first of %s)', cardinality(ids)) ELSE '' END;
$outboxd$;

-- Publishes the given events again if they have the status `were` (dead or published), and returns their
-- number. `seqs` identifies the events, because events of a partitioned outbox may share an id. Each event
-- keeps its id and seq. Once the leader has read such an event, later events of its aggregate wait behind it.
CREATE OR REPLACE FUNCTION @schema@.requeue(ids uuid[], were @schema@.event_status,
  to_exchange text DEFAULT NULL,
  to_routing_key text DEFAULT NULL, seqs bigint[] DEFAULT NULL) RETURNS bigint LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $outboxd$
DECLARE
  changed bigint;
BEGIN
  UPDATE @schema@.event AS e
  SET status = 'waiting', exception = 'backing_off', attempts = 0, deferrals = 0,
      first_failed_at = NULL, waits_for = NULL, available_at = clock_timestamp(), published_at = NULL,
      replay_exchange = CASE WHEN were = 'published' THEN to_exchange ELSE e.replay_exchange END,
      replay_routing_key = CASE WHEN were = 'published' THEN to_routing_key ELSE e.replay_routing_key END
  FROM (
    SELECT w.id, w.seq FROM @schema@.event AS w
    WHERE w.id = ANY (ids) AND (seqs IS NULL OR w.seq = ANY (seqs)) AND w.status = were
    ORDER BY w.id, w.seq FOR UPDATE) AS k
  WHERE e.id = k.id AND e.seq = k.seq AND e.status = were;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed > 0 THEN
    PERFORM @schema@.tell_relays('due');
  END IF;
  RETURN changed;
END
$outboxd$;

-- Here and below, `audit` is the result of audit_begin. Without it, the call gets an audit row of its own.
CREATE OR REPLACE FUNCTION @schema@.dead_retry(ids uuid[], audit bigint DEFAULT NULL,
  seqs bigint[] DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $outboxd$
DECLARE
  changed bigint;
BEGIN
  PERFORM @schema@.require_role('outbox_operator');
  changed := @schema@.requeue(ids, 'dead', NULL, NULL, seqs);
  PERFORM @schema@.audit_count(audit, 'retry', @schema@.audit_ids(ids), changed);
  RETURN changed;
END
$outboxd$;

-- Publishes events again, with the same id and seq. The given exchange and routing key are used until the
-- events are replayed again. The events' own exchange and routing key do not change.
CREATE OR REPLACE FUNCTION @schema@.replay(ids uuid[], audit bigint DEFAULT NULL, exchange text DEFAULT NULL,
  routing_key text DEFAULT NULL, seqs bigint[] DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $outboxd$
DECLARE
  changed bigint;
BEGIN
  PERFORM @schema@.require_role('outbox_operator');
  changed := @schema@.requeue(ids, 'published', exchange, routing_key, seqs);
  PERFORM @schema@.audit_count(audit, 'replay', @schema@.audit_ids(ids), changed);
  RETURN changed;
END
$outboxd$;

-- The stored form of a discarded event: without its payload and the values of its headers, and with truncated
-- texts. Also works for a row that is dead because PostgreSQL cannot read it.
CREATE OR REPLACE FUNCTION @schema@.without_payload(which uuid, which_seq bigint)
RETURNS jsonb LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $outboxd$
BEGIN
  RETURN (
    SELECT jsonb_build_object('id', e.id, 'seq', e.seq, 'aggregate_type', left(e.aggregate_type, 1000),
      'aggregate_id', left(e.aggregate_id, 1000), 'event_type', left(e.event_type, 1000),
      'exchange', left(e.exchange, 1000), 'routing_key', left(e.routing_key, 1000), 'status', e.status,
      'attempts', e.attempts, 'available_at', e.available_at, 'created_at', e.created_at,
      'last_error', left(e.last_error, 1000), 'last_error_code', left(e.last_error_code, 1000),
      'header_names', (SELECT coalesce(jsonb_agg(left(k.name, 100) ORDER BY k.name), '[]')
                       FROM (SELECT name FROM jsonb_object_keys(e.headers) AS name LIMIT 100) AS k))
    FROM @schema@.event AS e WHERE e.id = which AND e.seq = which_seq);
EXCEPTION WHEN OTHERS THEN
  RETURN jsonb_build_object('id', which, 'seq', which_seq, 'unreadable', SQLSTATE);
END
$outboxd$;

-- Deletes those of the given events that are dead, and returns their number. The table `discarded` keeps a
-- summary of each. If relay.after_dead is hold, other events wait for a dead one, so the leader is notified.
CREATE OR REPLACE FUNCTION @schema@.dead_discard(ids uuid[], audit bigint DEFAULT NULL,
  seqs bigint[] DEFAULT NULL)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $outboxd$
#variable_conflict use_variable
DECLARE
  chosen uuid[];
  chosen_seqs bigint[];
  row_id bigint;
BEGIN
  PERFORM @schema@.require_role('outbox_operator');
  SELECT coalesce(array_agg(c.id), '{}'), coalesce(array_agg(c.seq), '{}') INTO chosen, chosen_seqs
  FROM (SELECT d.id, d.seq FROM @schema@.event AS d
        WHERE d.id = ANY (ids) AND (seqs IS NULL OR d.seq = ANY (seqs)) AND d.status = 'dead'
        ORDER BY d.id, d.seq FOR UPDATE) AS c;
  row_id := @schema@.audit_count(audit, 'discard', @schema@.audit_ids(ids), cardinality(chosen));
  INSERT INTO @schema@.discarded (audit, id, seq, event)
  SELECT row_id, k.id, k.seq, @schema@.without_payload(k.id, k.seq)
  FROM unnest(chosen, chosen_seqs) AS k(id, seq);
  DELETE FROM @schema@.event AS e USING unnest(chosen, chosen_seqs) AS k(id, seq)
  WHERE e.id = k.id AND e.seq = k.seq AND e.status = 'dead';
  IF cardinality(chosen) > 0 THEN
    PERFORM @schema@.tell_relays('due');
  END IF;
  RETURN cardinality(chosen);
END
$outboxd$;

-- The paused parts for these event types and aggregate types, for everything, and for these globs of
-- exchanges and routing keys.
CREATE OR REPLACE FUNCTION @schema@.pause_parts(event_types text[], aggregate_types text[],
  everything boolean,
  exchanges text[], routing_keys text[])
RETURNS TABLE (part text, name text) LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $outboxd$
  SELECT 'event_type', t FROM unnest(event_types) AS t
  UNION
  SELECT 'aggregate_type', t FROM unnest(aggregate_types) AS t
  UNION
  SELECT 'everything', '' WHERE everything
  UNION
  SELECT 'exchange', g FROM unnest(exchanges) AS g
  UNION
  SELECT 'routing_key', g FROM unnest(routing_keys) AS g;
$outboxd$;

-- The selectors as command-line options.
CREATE OR REPLACE FUNCTION @schema@.pause_words(event_types text[], aggregate_types text[],
  everything boolean,
  exchanges text[], routing_keys text[])
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $outboxd$
  SELECT string_agg(CASE p.part WHEN 'everything' THEN '--all'
                    ELSE format('--%s %s', replace(p.part, '_', '-'),
                                CASE WHEN p.name = '' THEN quote_literal('') ELSE p.name END) END,
                    ' ' ORDER BY p.part, p.name)
  FROM @schema@.pause_parts(event_types, aggregate_types, everything, exchanges, routing_keys) AS p;
$outboxd$;

-- Accepts one name, or an array as text.
CREATE OR REPLACE FUNCTION @schema@.names_in(given text)
RETURNS text[] LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $outboxd$
  SELECT CASE WHEN given LIKE '{%' THEN given::text[] WHEN given IS NOT NULL THEN ARRAY[given] END;
$outboxd$;

-- Prevents relays from publishing events of these types, for these destinations, or any events, until `until`
-- or until they are resumed. Returns the number of paused parts. Pausing a part again replaces its end and
-- reason. Events that are in flight to the broker are still delivered.
CREATE OR REPLACE FUNCTION @schema@.pause(event_types text[], aggregate_types text[] DEFAULT '{}',
  everything boolean DEFAULT false, until timestamptz DEFAULT NULL, reason text DEFAULT NULL,
  exchanges text[] DEFAULT '{}', routing_keys text[] DEFAULT '{}')
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $outboxd$
#variable_conflict use_variable
DECLARE
  longest CONSTANT integer := 1000;
  bad     record;
  changed bigint;
BEGIN
  PERFORM @schema@.require_role('outbox_operator');
  SELECT replace(p.part, '_', ' ') AS part, octet_length(p.name) AS bytes,
         CASE WHEN p.part IN ('event_type', 'aggregate_type') THEN 1 ELSE 0 END AS fewest INTO bad
  FROM @schema@.pause_parts(event_types, aggregate_types, everything, exchanges, routing_keys) AS p
  WHERE p.name IS NULL OR octet_length(p.name) > longest
    OR p.name = '' AND p.part IN ('event_type', 'aggregate_type')
  LIMIT 1;
  IF FOUND THEN
    RAISE invalid_parameter_value USING
      MESSAGE = format('the %s to pause is %s; it has to have %s to %s bytes', bad.part,
                       coalesce(bad.bytes || ' bytes long', 'null'), bad.fewest, longest);
  END IF;
  IF until <= clock_timestamp() THEN
    RAISE invalid_parameter_value USING MESSAGE = format('a pause cannot end at %s, which has passed', until);
  END IF;
  DELETE FROM @schema@.pause AS p WHERE p.until <= clock_timestamp();
  INSERT INTO @schema@.pause AS p (part, name, until, reason, who)
  SELECT n.part, n.name, nullif(until, 'infinity'), left(reason, 4000), @schema@.audit_who()
  FROM @schema@.pause_parts(event_types, aggregate_types, everything, exchanges, routing_keys) AS n
  ON CONFLICT ON CONSTRAINT pause_pkey DO UPDATE
  SET until = excluded.until, reason = excluded.reason, who = excluded.who;
  GET DIAGNOSTICS changed = ROW_COUNT;
  PERFORM @schema@.audit_write('pause',
    @schema@.pause_words(event_types, aggregate_types, everything, exchanges, routing_keys), 0, reason,
    CASE WHEN until IS NOT NULL THEN jsonb_build_object('until', until) END)
  WHERE changed > 0;
  PERFORM @schema@.tell_relays('pause');
  RETURN changed;
END
$outboxd$;

-- Pauses with a single name for each kind. PostgreSQL also chooses this function for literals of unknown
-- type, even for the text of an array.
CREATE OR REPLACE FUNCTION @schema@.pause(event_types text, aggregate_types text DEFAULT '{}',
  everything boolean DEFAULT false, until timestamptz DEFAULT NULL, reason text DEFAULT NULL,
  exchanges text DEFAULT '{}', routing_keys text DEFAULT '{}')
RETURNS bigint LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $outboxd$
  SELECT @schema@.pause(@schema@.names_in(event_types), @schema@.names_in(aggregate_types), everything, until,
                        reason, @schema@.names_in(exchanges), @schema@.names_in(routing_keys));
$outboxd$;

-- Ends the pauses of these types and of these globs, exactly as they were given. `everything`: ends all
-- pauses. Returns the number of pauses ended.
CREATE OR REPLACE FUNCTION @schema@.resume(event_types text[], aggregate_types text[] DEFAULT '{}',
  everything boolean DEFAULT false, reason text DEFAULT NULL, exchanges text[] DEFAULT '{}',
  routing_keys text[] DEFAULT '{}')
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $outboxd$
#variable_conflict use_variable
DECLARE
  ended bigint;
BEGIN
  PERFORM @schema@.require_role('outbox_operator');
  DELETE FROM @schema@.pause AS p WHERE p.until <= clock_timestamp();
  DELETE FROM @schema@.pause AS p
  WHERE everything OR (p.part, p.name) IN (
    SELECT n.part, n.name
    FROM @schema@.pause_parts(event_types, aggregate_types, false, exchanges, routing_keys) AS n);
  GET DIAGNOSTICS ended = ROW_COUNT;
  PERFORM @schema@.audit_write('resume',
    @schema@.pause_words(event_types, aggregate_types, everything, exchanges, routing_keys), 0, reason,
    jsonb_build_object('pauses', ended))
  WHERE ended > 0;
  PERFORM @schema@.tell_relays('pause');
  RETURN ended;
END
$outboxd$;

-- Resumes with a single name for each kind, like the pause function above.
CREATE OR REPLACE FUNCTION @schema@.resume(event_types text, aggregate_types text DEFAULT '{}',
  everything boolean DEFAULT false, reason text DEFAULT NULL, exchanges text DEFAULT '{}',
  routing_keys text DEFAULT '{}')
RETURNS bigint LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $outboxd$
  SELECT @schema@.resume(@schema@.names_in(event_types), @schema@.names_in(aggregate_types), everything,
                         reason, @schema@.names_in(exchanges), @schema@.names_in(routing_keys));
$outboxd$;
