-- A sequence that is behind the events, as after a logical copy. New events would be published before earlier
-- events of their aggregates. A seq beyond the bound was chosen by hand. The sequence does not follow it,
-- because it would soon be at its end. Writers that continue meanwhile may already be beyond the new value,
-- so the sequence is never set back.
SELECT format('the sequence is at %s, and an event has the seq %s', s.next, e.seq),
       format('LOCK TABLE %1$I.event IN SHARE ROW EXCLUSIVE MODE; SELECT setval(pg_get_serial_sequence(%2$L,'
              ' ''seq''), greatest(%3$s, %1$I.next_seq() - 1));', @schema_text@,
              format('%I.event', @schema_text@), e.seq),
       true
FROM @schema@.next_seq() AS s(next)
CROSS JOIN LATERAL (SELECT e.seq FROM @schema@.event AS e ORDER BY e.seq DESC LIMIT 1) AS e
WHERE s.next <= e.seq AND e.seq < 4611686018427387904
