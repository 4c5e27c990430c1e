-- These events, if they are not finished, and are still the rows that were read.
-- $1 largest, $2 mask, $3 shard, $4 ids, $5 seqs, $6 transactions that inserted them
SELECT @event_columns@, @exception_columns@, false
FROM @event_open@
  SELECT @event_row@
  FROM unnest($4::uuid[], $5::bigint[], $6::xid8[]) AS k(id, seq, tx), @schema@.event AS e
  WHERE @event_key@ AND e.status IN ('pending', 'waiting') AND (e.hash & $2) = $3
@event_close@
