-- What there is to do about partitions, and what was done: see rotate_partition. It is not asked of an outbox
-- that is not partitioned, whose relay need not be allowed to.
SELECT t.what, t.number FROM @schema@.rotate_partition() AS t
