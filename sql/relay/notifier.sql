-- Who floods the channel of the outbox with notifications: $1 the process at the server that they come from.
-- Columns as in lead_holder.
SELECT 0::bigint, 'NOTIFY'::text, a.pid, a.usename::text, a.application_name, a.query
FROM pg_stat_activity AS a
WHERE a.pid = $1::integer
