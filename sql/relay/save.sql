-- Saves the position of a shard's leader.
-- $1 shard
-- $2 seq
-- $3 snapshot
-- $4 seqs of unsettled events up to $2
UPDATE @schema@.shard AS s
SET seq = $2, seen = $3::text::pg_snapshot, unsettled = $4,
    system_identifier = @system_identifier@,
    saved_by = pg_current_xact_id()
WHERE s.shard = $1::integer
