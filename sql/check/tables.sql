-- Part of other statements: the table of events and its partitions.
SELECT format('%I.event', @schema_text@)::regclass::oid
UNION ALL
SELECT i.inhrelid FROM pg_inherits AS i WHERE i.inhparent = format('%I.event', @schema_text@)::regclass
