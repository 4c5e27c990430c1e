-- How far the leader of a shard has come: $1 shard, $2 seq, $3 snapshot, $4 seqs of events up to it that are
-- not settled
UPDATE @schema@.shard AS s
SET seq = $2, seen = $3::text::pg_snapshot, unsettled = $4,
    system_identifier = @system_identifier@,
    saved_by = pg_current_xact_id()
WHERE s.shard = $1::integer
