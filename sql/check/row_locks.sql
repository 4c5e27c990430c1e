-- Sessions that have locked rows of events. Columns as in locks.
SELECT h.keeps_from, h.shard::text, h.mode, h.pid::text, h.user_name, h.application_name, h.query,
       h.waits_for, NULL
FROM (@row_holders@) AS h
