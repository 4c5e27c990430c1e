-- These events, if they are not finished.
-- $1 largest, $2 and $3 unused, $4 ids
SELECT @event_columns@, @exception_columns@, false
FROM @event_open@
  SELECT @event_row@
  FROM @schema@.event AS e
  WHERE e.id = ANY ($4) AND e.status IN ('pending', 'waiting')
    AND $2::bigint IS NOT NULL AND $3::bigint IS NOT NULL
@event_close@
