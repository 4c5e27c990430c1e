-- Like by_key.sql, but measures numbers first. If the numbers of a payload or of headers exceed $1 bytes as
-- text, the event is returned withheld, with these bytes as its size. Its texts are not computed. Parameters
-- and columns: as in by_key.sql
SELECT @fetched_columns@, @exception_columns@, @put_off@
FROM (
  SELECT f.*, @comes@ AS comes
  FROM @measured_open@
    @row_of_key@
  @measured_close@
  WINDOW w AS (ROWS UNBOUNDED PRECEDING)) AS f
