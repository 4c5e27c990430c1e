-- How long each further statement of this transaction may take. $1 milliseconds, as a text
SELECT set_config('statement_timeout', $1, true)
