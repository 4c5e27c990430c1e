-- Conversion to partitions: the functions of `migrate --partition` for an outbox that has none.

-- The objects that would stay with the old table when it becomes a partition, and what to do about each, one
-- line per object. Empty if the outbox is partitioned.
CREATE OR REPLACE FUNCTION @schema@.partition_obstacles()
RETURNS TABLE (obstacle text, remedy text) LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $outboxd$
  WITH event AS (
    SELECT c.oid::regclass AS oid FROM pg_class AS c
    WHERE c.oid = format('%I.event', @schema_text@)::regclass AND c.relkind = 'r')
  SELECT format('the foreign key %I of %s refers to it', c.conname, c.conrelid::regclass),
         format('ALTER TABLE %s DROP CONSTRAINT %I;', c.conrelid::regclass, c.conname)
  FROM pg_constraint AS c, event WHERE c.contype = 'f' AND c.confrelid = event.oid AND c.conparentid = 0
  UNION ALL
  SELECT format('it has the foreign key %I to %s', c.conname, c.confrelid::regclass),
         format('ALTER TABLE %s DROP CONSTRAINT %I;  -- and add it again later', event.oid, c.conname)
  FROM pg_constraint AS c, event
  WHERE c.contype = 'f' AND c.conrelid = event.oid AND c.confrelid <> event.oid
  UNION ALL
  SELECT DISTINCT format('the view %s reads from it', r.ev_class::regclass),
         format('DROP VIEW %s;  -- and create it again later', r.ev_class::regclass)
  FROM pg_depend AS d JOIN pg_rewrite AS r ON r.oid = d.objid, event
  WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
    AND d.refobjid = event.oid AND r.ev_class <> event.oid
  UNION ALL
  SELECT format('it has the rule %I', r.rulename), format('DROP RULE %I ON %s;', r.rulename, event.oid)
  FROM pg_rewrite AS r, event WHERE r.ev_class = event.oid
  UNION ALL
  SELECT format('the publication %I has it', p.pubname),
         format('ALTER PUBLICATION %I DROP TABLE %s;  -- and add it again later', p.pubname, event.oid)
  FROM pg_publication_rel AS r JOIN pg_publication AS p ON p.oid = r.prpubid, event
  WHERE r.prrelid = event.oid
  UNION ALL
  SELECT format('it has the policy %I', p.polname), format('DROP POLICY %I ON %s;', p.polname, event.oid)
  FROM pg_policy AS p, event WHERE p.polrelid = event.oid
  UNION ALL
  SELECT format('the table %s inherits from it', i.inhrelid::regclass),
         format('ALTER TABLE %s NO INHERIT %s;', i.inhrelid::regclass, event.oid)
  FROM pg_inherits AS i, event WHERE i.inhparent = event.oid
  UNION ALL
  SELECT format('it is a part of %s', i.inhparent::regclass), 'only a table of its own can be partitioned'
  FROM pg_inherits AS i, event WHERE i.inhrelid = event.oid
  UNION ALL
  SELECT format('the index %I of yours is unique, which a partitioned table can be by seq only', c.relname),
         format('DROP INDEX %s;', c.oid::regclass)
  FROM pg_index AS x JOIN pg_class AS c ON c.oid = x.indexrelid, event
  WHERE x.indrelid = event.oid AND (x.indisunique OR x.indisexclusion) AND c.relname <> 'event_pkey'
  UNION ALL
  SELECT format('the function %s depends on it', d.objid::regprocedure),
         format('DROP FUNCTION %s;  -- and create it again later', d.objid::regprocedure)
  FROM pg_depend AS d, event
  WHERE d.classid = 'pg_proc'::regclass
    AND (d.refclassid = 'pg_class'::regclass AND d.refobjid = event.oid
         OR d.refclassid = 'pg_type'::regclass
            AND d.refobjid = (SELECT c.reltype FROM pg_class AS c WHERE c.oid = event.oid))
  UNION ALL
  SELECT format('the table %I.%I is there already', @schema_text@, c.relname),
         format('ALTER TABLE %s RENAME TO ...;', c.oid::regclass)
  FROM pg_class AS c, event
  WHERE c.relnamespace = (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = @schema_text@)
    AND c.relname ~ '^event_p[0-9]{1,10}$'
  UNION ALL
  SELECT format('%s, and behind it there is no room for partitions, which are %s apart', h.what,
                1::bigint << 32),
         format(h.remedy, event.oid)
  FROM event, LATERAL (
    SELECT format('the sequence of seq is at %s', s.next) AS what, s.next AS seq,
           'only an outbox with a lower sequence can be partitioned' AS remedy
    FROM @schema@.next_seq() AS s(next)
    UNION ALL
    (SELECT format('an event has the seq %s', e.seq), e.seq,
            format('DELETE FROM %%s WHERE seq = %s;  -- when it is published', e.seq)
     FROM @schema@.event AS e ORDER BY e.seq DESC LIMIT 1)) AS h
  WHERE h.seq >> 32 > 2147483646 - 4;
$outboxd$;

-- The first of the three steps of `migrate --partition`. Each step is a transaction of its own. The second is
--   ALTER TABLE event VALIDATE CONSTRAINT event_in_first_partition
-- which reads the whole table, but blocks no other session. From the first step on, every seq is below the
-- start of the second partition. Because of that constraint, the table becomes the first partition without
-- being read.
CREATE OR REPLACE FUNCTION @schema@.prepare_partitions() RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $outboxd$
DECLARE
  why record;
BEGIN
  IF (SELECT c.relkind <> 'r' FROM pg_class AS c
      WHERE c.oid = format('%I.event', @schema_text@)::regclass) THEN
    RAISE object_not_in_prerequisite_state USING
      MESSAGE = format('%I.event is partitioned already', @schema_text@);
  END IF;
  SELECT * INTO why FROM @schema@.partition_obstacles() LIMIT 1;
  IF FOUND THEN
    RAISE dependent_objects_still_exist USING
      MESSAGE = format('%I.event cannot be partitioned: %s', @schema_text@, why.obstacle), HINT = why.remedy;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_constraint AS c WHERE c.conrelid = format('%I.event', @schema_text@)::regclass
                 AND c.conname = 'event_in_first_partition') THEN
    EXECUTE format('ALTER TABLE %I.event ADD CONSTRAINT event_in_first_partition CHECK (seq < %s) NOT VALID',
      @schema_text@,
      ((greatest(0, @schema@.next_seq(),
                 (SELECT e.seq FROM @schema@.event AS e ORDER BY e.seq DESC LIMIT 1)) >> 32) + 1) << 32);
  END IF;
END
$outboxd$;

-- The third step: the table becomes the first partition of a new table, which gets its name, triggers, grants
-- and indexes. No rows are moved. If the outbox is partitioned already, only the period changes.
CREATE OR REPLACE FUNCTION @schema@.partition_by(wanted text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET client_min_messages = warning
AS $outboxd$
DECLARE
  old       CONSTANT regclass := format('%I.event', @schema_text@)::regclass;
  whole     CONSTANT text := format('%I.event', @schema_text@);
  first     bigint;
  part      text;
  options   text;
  comment   CONSTANT text := obj_description(old, 'pg_class');
  began     timestamptz;
  owner     CONSTANT oid := (SELECT c.relowner FROM pg_class AS c WHERE c.oid = old);
  later     text[] := '{}';
  one       record;
  statement text;
BEGIN
  IF (SELECT c.relkind = 'p' FROM pg_class AS c WHERE c.oid = old) THEN
    INSERT INTO @schema@.partitioning (period) VALUES (wanted)
    ON CONFLICT ON CONSTRAINT partitioning_pkey DO UPDATE SET period = excluded.period;
    RETURN;
  END IF;
  PERFORM @schema@.prepare_partitions();
  IF NOT (SELECT c.convalidated FROM pg_constraint AS c
          WHERE c.conrelid = old AND c.conname = 'event_in_first_partition') THEN
    RAISE object_not_in_prerequisite_state USING
      MESSAGE = format('ALTER TABLE %s VALIDATE CONSTRAINT event_in_first_partition comes first', old);
  END IF;
  first := (SELECT substring(pg_get_constraintdef(c.oid) FROM '[0-9]{4,}')::bigint FROM pg_constraint AS c
            WHERE c.conrelid = old AND c.conname = 'event_in_first_partition') >> 32;
  first := first - 1;
  part := format('%I.%I', @schema_text@, 'event_p' || first);
  options := (SELECT array_to_string(c.reloptions, ', ') FROM pg_class AS c WHERE c.oid = old);
  FOR ahead IN 1..3 LOOP
    PERFORM @schema@.make_partition(first + ahead, options);
  END LOOP;

  -- From here on others wait.
  EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', old);
  began := (SELECT e.created_at FROM @schema@.event AS e ORDER BY e.seq LIMIT 1);
  -- What the new table is to have is read from the old one, and done later under the same names.
  FOR one IN SELECT t.tgname, pg_get_triggerdef(t.oid) AS made, t.tgenabled FROM pg_trigger AS t
             WHERE t.tgrelid = old AND NOT t.tgisinternal ORDER BY t.oid LOOP
    later := later || one.made || CASE one.tgenabled
      WHEN 'A' THEN array[format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', whole, one.tgname)]
      WHEN 'R' THEN array[format('ALTER TABLE %s ENABLE REPLICA TRIGGER %I', whole, one.tgname)]
      WHEN 'D' THEN array[format('ALTER TABLE %s DISABLE TRIGGER %I', whole, one.tgname)] ELSE '{}' END;
    EXECUTE format('DROP TRIGGER %I ON %s', one.tgname, old);
  END LOOP;
  FOR one IN SELECT x.indexrelid, c.relname, pg_get_indexdef(x.indexrelid) AS made, x.indisprimary
             FROM pg_index AS x JOIN pg_class AS c ON c.oid = x.indexrelid
             WHERE x.indrelid = old ORDER BY x.indexrelid LOOP
    IF NOT one.indisprimary THEN
      later := later || one.made;
    END IF;
    EXECUTE format('ALTER INDEX %s RENAME TO %I', one.indexrelid::regclass,
                   CASE WHEN one.relname LIKE 'event\_%'
                   THEN regexp_replace(one.relname, '^event', 'event_p' || first)
                   ELSE one.relname || '_p' || first END);
  END LOOP;
  FOR one IN
    SELECT a.privilege_type AS what, a.grantee, a.is_grantable, NULL::name AS attname
    FROM pg_class AS c CROSS JOIN aclexplode(c.relacl) AS a WHERE c.oid = old
    UNION ALL
    SELECT a.privilege_type, a.grantee, a.is_grantable, t.attname
    FROM pg_attribute AS t CROSS JOIN aclexplode(t.attacl) AS a WHERE t.attrelid = old AND NOT t.attisdropped
  LOOP
    later := later || format('GRANT %s%s ON %s TO %s%s', one.what, ' (' || quote_ident(one.attname) || ')',
      whole, CASE WHEN one.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(one.grantee)) END,
      CASE WHEN one.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
  END LOOP;

  EXECUTE format('ALTER TABLE %s ALTER seq DROP IDENTITY', old);
  EXECUTE format('ALTER TABLE %s RENAME TO %I', old, 'event_p' || first);
  EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING INDEXES EXCLUDING STATISTICS'
                 ' EXCLUDING IDENTITY) PARTITION BY RANGE (seq)', whole, part);
  -- As in make_partition.
  EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', whole);
  EXECUTE format('COMMENT ON TABLE %s IS %L', whole, comment);
  ALTER TABLE @schema@.event DROP CONSTRAINT event_in_first_partition;
  EXECUTE format('ALTER TABLE %s ALTER seq ADD GENERATED BY DEFAULT AS IDENTITY (SEQUENCE NAME %I.event_seq'
                 ' START WITH %s)', whole, @schema_text@, (first + 1) << 32);
  EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (MINVALUE) TO (%s)',
                 whole, part, (first + 1) << 32);
  EXECUTE format('ALTER TABLE %s DROP CONSTRAINT event_in_first_partition', part);
  FOR ahead IN 1..3 LOOP
    PERFORM @schema@.attach_partition(first + ahead);
  END LOOP;
  FOREACH statement IN ARRAY later LOOP
    EXECUTE statement;
  END LOOP;
  IF current_user <> pg_get_userbyid(owner) THEN
    FOR one IN
      SELECT a.part FROM @schema@.attached_partitions() AS a
      UNION ALL
      SELECT format('%I.event', @schema_text@)::regclass
    LOOP
      EXECUTE format('ALTER TABLE %s OWNER TO %I', one.part, pg_get_userbyid(owner));
    END LOOP;
  END IF;
  INSERT INTO @schema@.partitioning (period) VALUES (wanted);
  INSERT INTO @schema@.event_partition (number, began_at)
  VALUES (first, least(began, clock_timestamp())), (first + 1, clock_timestamp()),
         (first + 2, NULL), (first + 3, NULL);
END
$outboxd$;
