-- A page of the aggregates that hold back events, of all shards: the hash, and whether an event of it backs
-- off.
-- $1 after this hash. It goes from one aggregate to the next, however many events each has.
-- backing_off is before parked; IN and ORDER BY lead into no index but event_held.
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
