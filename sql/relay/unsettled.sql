-- What a former leader has left: pending rows with these seqs. Whatever their ids: up to its position it has
-- read them. It does not ask whether that snapshot sees them: rows of a server that was left behind have
-- transaction ids that no snapshot here sees.
-- $1 largest, $2 mask, $3 shard, $4 seqs
SELECT @event_columns@, @exception_columns@, false
FROM @event_open@
  SELECT @event_row@
  FROM @schema@.event AS e
  WHERE e.seq = ANY ($4::bigint[]) AND @is_pending@ AND @in_shard@
@event_close@
