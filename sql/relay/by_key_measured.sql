-- Like by_key.sql, but measures numbers first. If the numbers of a payload or of headers take more than $1
-- bytes as texts, the event comes withheld, and these bytes count as its size. Its texts are not made.
-- Parameters and columns: as in by_key.sql
SELECT @fetched_columns@, @exception_columns@, @put_off@
FROM (
  SELECT f.*, @comes@ AS comes
  FROM @measured_open@
    @row_of_key@
  @measured_close@
  WINDOW w AS (ROWS UNBOUNDED PRECEDING)) AS f
