-- Takes the lead of a shard that nobody leads, and returns it: $1 key 1 of the locks, $2 shards that are not
-- wanted. On a standby server locks could be had, too. CASE keeps the order: as a condition of its own the
-- lock would be tried first, and kept for nothing.
SELECT s.shard FROM @schema@.shard AS s
WHERE CASE WHEN s.shard = ANY ($2::bigint[]) OR pg_is_in_recovery() THEN false
           ELSE pg_try_advisory_lock($1::integer, s.shard) END
LIMIT 1
