-- The triggers of the table of events. The other files describe their functions.

CREATE TRIGGER event_take_over BEFORE INSERT ON @schema@.event
  FOR EACH ROW EXECUTE FUNCTION @schema@.take_over();
ALTER TABLE @schema@.event ENABLE REPLICA TRIGGER event_take_over;

CREATE TRIGGER event_keep_place AFTER UPDATE OF seq, tx, aggregate_type, aggregate_id ON @schema@.event
  FOR EACH ROW EXECUTE FUNCTION @schema@.keep_place();
ALTER TABLE @schema@.event ENABLE ALWAYS TRIGGER event_keep_place;

CREATE TRIGGER event_agree_on_status
  AFTER UPDATE OF status, exception, published_at, available_at ON @schema@.event
  FOR EACH ROW WHEN (NEW.status <> 'published' OR NEW.exception IS NOT NULL OR NEW.published_at IS NULL)
  EXECUTE FUNCTION @schema@.agree_on_status();
ALTER TABLE @schema@.event ENABLE ALWAYS TRIGGER event_agree_on_status;
