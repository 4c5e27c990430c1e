-- A page of the dead events of a shard, in seq order: hash and seq. A seq may come twice, so it ends WITH
-- TIES. One that was cancelled holds nobody back.
-- $1 unused, $2 mask, $3 shard, $4 after this seq
SELECT @hash@, e.seq
FROM @schema@.event AS e
WHERE e.exception >= 'dead' AND (e.exception, e.seq) > ('dead', $4) AND @in_shard@
  AND e.last_error_code IS DISTINCT FROM 'cancelled' AND $1::bigint IS NOT NULL
ORDER BY e.exception, e.seq
FETCH FIRST 2000 ROWS WITH TIES
