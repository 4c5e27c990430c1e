-- A user's trigger that fires when an event is marked or deleted. Its function is executed for each mark,
-- with the privileges of the relay's user unless it is SECURITY DEFINER.
SELECT CASE WHEN t.definer THEN 'ok' ELSE 'warning' END,
       CASE WHEN t.definer
         THEN format('%I fires when an event is %s, with the rights of its function''s owner', t.name,
                     t.moment)
         ELSE format('the trigger %I of %s fires when an event is %s, with the rights of %s: if these do not '
                     'suffice, the event is not %3$s', t.name, t.relation, t.moment, @user@) END,
       format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp;  -- or DROP '
              'TRIGGER %I ON %s;', t.function, t.name, t.relation)
FROM (
  SELECT t.tgname AS name, t.tgrelid::regclass AS relation, t.tgfoid::regprocedure AS function,
         p.prosecdef AS definer, CASE t.tgtype & 24  -- 16: UPDATE, 8: DELETE
           WHEN 24 THEN 'marked as published or deleted' WHEN 16 THEN 'marked as published' ELSE 'deleted' END
           AS moment
  FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid
  WHERE t.tgrelid IN (@tables@) AND NOT t.tgisinternal AND t.tgparentid = 0 AND t.tgenabled <> 'D'
    AND t.tgtype & 24 <> 0
    AND t.tgname NOT IN ('event_take_over', 'event_keep_place', 'event_agree_on_status')) AS t
ORDER BY t.definer, t.name
LIMIT 1
