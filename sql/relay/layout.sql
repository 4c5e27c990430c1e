-- Whether the outbox is partitioned.
SELECT c.relkind = 'p'
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = @schema_text@ AND c.relname = 'event'
