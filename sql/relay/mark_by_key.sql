-- Marks events as published, by key.
-- $1 ids
-- $2 seqs
-- $3 transactions that inserted the rows
-- $4 transactions that had last written the rows when they were read
-- $5 digests of the content that was sent
-- Columns: the row's number among the parameters, starting with 1; whether the row has changed since it was
-- sent.
--
-- Locked rows are skipped. A row that has replaced another one is also skipped, because its event was never
-- sent. An event that was cancelled in the meantime is marked, because its message has already been sent.
WITH found AS MATERIALIZED (
  SELECT u.place, k.seq, k.number, u.changed
  FROM unnest($1::uuid[], $2::bigint[], $3::xid8[], $4::xid[], $5::bytea[]) WITH ORDINALITY
    AS k(id, seq, tx, written_by, sent, number)
  CROSS JOIN LATERAL (
    SELECT e.ctid AS place, @changed@ AS changed FROM @schema@.event AS e
    WHERE @event_key@ AND e.status IN ('pending', 'waiting', 'dead')
    FOR UPDATE SKIP LOCKED) AS u)
UPDATE @schema@.event AS e
SET status = 'published', published_at = clock_timestamp(), exception = NULL, first_failed_at = NULL,
    last_error = CASE WHEN k.changed THEN 'changed after it was sent: what was delivered is what this row '
      'said before' ELSE e.last_error END,
    last_error_code = CASE WHEN k.changed THEN 'changed_after_send' ELSE e.last_error_code END
FROM found AS k
WHERE @event_at@
RETURNING k.number, k.changed
