-- Takes the lead of a shard that nobody leads, and returns the shard: $1 key 1 of the locks, $2 shards to
-- leave out. On a standby server, advisory locks are available, too, so that case is excluded. CASE enforces
-- the order: in a condition of its own, the lock might be taken first, and kept for nothing.
SELECT s.shard FROM @schema@.shard AS s
WHERE CASE WHEN s.shard = ANY ($2::bigint[]) OR pg_is_in_recovery() THEN false
           ELSE pg_try_advisory_lock($1::integer, s.shard) END
LIMIT 1
