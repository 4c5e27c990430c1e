-- Maintains partitions, see rotate_partition. Not executed for an outbox without partitions, whose relay may
-- lack the privilege.
-- Columns: what was done or left alone; number of the partition.
SELECT t.what, t.number FROM @schema@.rotate_partition() AS t
