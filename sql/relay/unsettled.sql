-- Pending rows that a former leader left unsettled.
-- $1 largest, $2 mask, $3 shard: as in read.sql
-- $4 seqs
-- Ids are not compared, because the former leader has read every row up to its position. Nor is the saved
-- snapshot used, because no snapshot of this server sees the transaction IDs of rows from another server.
SELECT @event_columns@, @exception_columns@, false
FROM @event_open@
  SELECT @event_row@
  FROM @schema@.event AS e
  WHERE e.seq = ANY ($4::bigint[]) AND @is_pending@ AND @in_shard@
@event_close@
