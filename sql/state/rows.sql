-- Rows that migrate writes and that relays depend on.
SELECT 'the record of migrations lacks ' || string_agg(m.name, ', ' ORDER BY m.version),
       format('INSERT INTO %I.migration (version, name) VALUES %s;', @schema_text@,
              string_agg(format('(%s, %L)', m.version, m.name), ', ' ORDER BY m.version)),
       true
FROM (VALUES @migrations@) AS m (version, name)
WHERE NOT EXISTS (SELECT FROM @schema@.migration AS r WHERE r.version = m.version)
HAVING count(*) > 0
UNION ALL
SELECT format('shard %s has no row', string_agg(s::text, ', ' ORDER BY s)),
       format('INSERT INTO %I.shard (shard, rings) VALUES %s;', @schema_text@,
              string_agg(format('(%s, @notifies@)', s), ', ' ORDER BY s)),
       true
FROM generate_series(0, @shards@ - 1) AS s
WHERE NOT EXISTS (SELECT FROM @schema@.shard AS r WHERE r.shard = s)
HAVING count(*) > 0
UNION ALL
SELECT format('shard %s has the wrong doorbell', string_agg(r.shard::text, ', ' ORDER BY r.shard)),
       format('UPDATE %I.shard SET rings = @notifies@, saved_by = CASE WHEN xmin = saved_by::xid'
              ' THEN pg_current_xact_id() END;', @schema_text@), true
FROM @schema@.shard AS r WHERE r.rings <> @notifies@
HAVING count(*) > 0
UNION ALL
SELECT 'event is partitioned, and partitioning has no row; its periods are taken to be days',
       format('INSERT INTO %I.partitioning (period) VALUES (''daily'');', @schema_text@), true
FROM pg_catalog.pg_class AS c
WHERE c.oid = to_regclass(format('%I.event', @schema_text@)) AND c.relkind = 'p'
  AND NOT EXISTS (SELECT FROM @schema@.partitioning)
UNION ALL
SELECT format('the partition %s has no row', string_agg(c.relname, ', ' ORDER BY c.relname)),
       format('INSERT INTO %1$I.event_partition (number, began_at) SELECT a.number, CASE WHEN a.number <='
              ' %1$I.next_seq() >> 32 THEN now() END FROM %1$I.attached_partitions() AS a'
              ' ON CONFLICT (number) DO NOTHING;', @schema_text@),
       false
FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid
WHERE i.inhparent = to_regclass(format('%I.event', @schema_text@)) AND c.relname ~ '^event_p[0-9]{1,10}$'
  AND NOT EXISTS (SELECT FROM @schema@.event_partition AS p WHERE 'event_p' || p.number = c.relname)
HAVING count(*) > 0
