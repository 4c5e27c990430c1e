-- Maintains partitions, see rotate_partition. Not run on an outbox without partitions, whose relay need not
-- have the right.
-- Columns: what was done or left alone; number of the partition.
SELECT t.what, t.number FROM @schema@.rotate_partition() AS t
