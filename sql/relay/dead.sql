-- A page of a shard's dead events, in seq order. Cancelled events are left out, because they block nothing.
-- $1 unused
-- $2 mask, $3 shard: as in read.sql
-- $4 seq: only later events
-- Columns: hash, seq. The page ends WITH TIES, because a seq may occur twice.
SELECT @hash@, e.seq
FROM @schema@.event AS e
WHERE e.exception >= 'dead' AND (e.exception, e.seq) > ('dead', $4) AND @in_shard@
  AND e.last_error_code IS DISTINCT FROM 'cancelled' AND $1::bigint IS NOT NULL
ORDER BY e.exception, e.seq
FETCH FIRST 2000 ROWS WITH TIES
