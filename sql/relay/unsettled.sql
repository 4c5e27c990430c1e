-- Pending rows that a former leader has left unsettled.
-- $1 largest, $2 mask, $3 shard: as in read.sql
-- $4 seqs
-- Ids are not compared, because the former leader has read every row up to its position. The saved snapshot
-- is not consulted either, because no snapshot here sees the transaction ids of rows from another server.
SELECT @event_columns@, @exception_columns@, false
FROM @event_open@
  SELECT @event_row@
  FROM @schema@.event AS e
  WHERE e.seq = ANY ($4::bigint[]) AND @is_pending@ AND @in_shard@
@event_close@
