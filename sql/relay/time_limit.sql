-- Limits the time of each further statement of this transaction.
-- $1 milliseconds, as a text
SELECT set_config('statement_timeout', $1, true)
