-- When an event was discarded, by whom and why.
-- $1 id
SELECT json_build_object('at', a.at, 'who', a.who, 'reason', a.reason)
FROM @schema@.discarded AS d JOIN @schema@.audit AS a ON a.id = d.audit
WHERE d.id = $1::uuid ORDER BY a.id DESC LIMIT 1
