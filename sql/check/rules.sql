-- A rule that changes the effect of a relay's writes.
SELECT 'failure',
       format('the rule %I of %I.event replaces an UPDATE or DELETE, so that the relay cannot mark events as '
              'published or delete them', r.rulename, @schema_text@),
       format('DROP RULE %I ON %I.event;', r.rulename, @schema_text@)
FROM pg_rewrite AS r
WHERE r.ev_class = format('%I.event', @schema_text@)::regclass AND r.ev_type IN ('2', '4')
  AND r.ev_enabled <> 'D'
ORDER BY r.rulename
LIMIT 1
