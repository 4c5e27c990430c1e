-- A sequence behind the events, as a logical copy leaves it: new events would go out before earlier ones of
-- their aggregates. Beyond the bound somebody has chosen a seq of his own, and the sequence would soon be at
-- its end.
SELECT format('the sequence is at %s, and an event has the seq %s', s.next, e.seq),
       format('SELECT setval(pg_get_serial_sequence(%L, ''seq''), %s);', format('%I.event', @schema_text@),
              e.seq),
       true
FROM @schema@.next_seq() AS s(next)
CROSS JOIN LATERAL (SELECT e.seq FROM @schema@.event AS e ORDER BY e.seq DESC LIMIT 1) AS e
WHERE s.next <= e.seq AND e.seq < 4611686018427387904
