-- Retention: drops a partition, see drop_partition. $1 its number, $2 the snapshot of when the scan began.
-- Returns null, or why it stays.
SELECT @schema@.drop_partition($1::bigint, $2::text::pg_snapshot)
