-- A sequence that is behind the events, for example after a logical copy. New events would be published
-- before earlier events of their aggregates. A seq beyond the limit was chosen manually. The sequence is not
-- set to such a value, because it would soon reach its end. Writers may have advanced the sequence beyond the
-- new value in the meantime, so it is never set back.
SELECT format('the sequence is at %s, and an event has the seq %s', s.next, e.seq),
       format('LOCK TABLE %1$I.event IN SHARE ROW EXCLUSIVE MODE; SELECT setval(pg_get_serial_sequence(%2$L,'
              ' ''seq''), greatest(%3$s, %1$I.next_seq() - 1));', @schema_text@,
              format('%I.event', @schema_text@), e.seq),
       true
FROM @schema@.next_seq() AS s(next)
CROSS JOIN LATERAL (SELECT e.seq FROM @schema@.event AS e ORDER BY e.seq DESC LIMIT 1) AS e
WHERE s.next <= e.seq AND e.seq < 4611686018427387904
