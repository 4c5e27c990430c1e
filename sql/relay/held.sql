-- A page of the held aggregates of all shards.
-- $1 hash: only higher ones
-- Columns: hash, whether an event of the aggregate backs off, number of the row in the page.
--
-- The recursion skips from aggregate to aggregate, however many events each has. backing_off sorts before
-- parked. IN and ORDER BY together fit only the index event_held.
WITH RECURSIVE page(hash, place) AS (
  (SELECT @hash@, 1 FROM @schema@.event AS e
   WHERE e.exception IN ('backing_off', 'parked') AND @hash@ > $1 ORDER BY @hash@ LIMIT 1)
  UNION ALL
  SELECT (SELECT @hash@ FROM @schema@.event AS e
          WHERE e.exception IN ('backing_off', 'parked') AND @hash@ > p.hash ORDER BY @hash@ LIMIT 1),
         p.place + 1
  FROM page AS p WHERE p.hash IS NOT NULL AND p.place < 500)
SELECT p.hash,
       (SELECT e.exception FROM @schema@.event AS e
        WHERE e.exception IN ('backing_off', 'parked') AND @hash@ = p.hash
        ORDER BY e.exception LIMIT 1) IS NOT DISTINCT FROM 'backing_off',
       p.place
FROM page AS p WHERE p.hash IS NOT NULL
