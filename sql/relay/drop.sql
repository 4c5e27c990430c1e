-- Retention: drops a partition, see drop_partition.
-- $1 number of the partition
-- $2 snapshot from the start of its scan
-- Returns null, or why the partition stays.
SELECT @schema@.drop_partition($1::bigint, $2::text::pg_snapshot)
