-- Finds those of the given events that are unfinished.
-- $1 ids
-- $2 seqs
-- $3 transactions that inserted the rows
-- Column: the event's number among the parameters, from 1.
SELECT k.number
FROM unnest($1::uuid[], $2::bigint[], $3::xid8[]) WITH ORDINALITY AS k(id, seq, tx, number)
CROSS JOIN LATERAL (
  SELECT FROM @schema@.event AS e
  WHERE @event_key@ AND e.status IN ('pending', 'waiting')
  OFFSET 0) AS u
