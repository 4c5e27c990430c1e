-- What is wrong after the scenario of a mapper: order 1 was taken, order 2 was rolled back, and orders 3 to 5
-- came with their events in one transaction. No row: nothing.
SELECT coalesce(o.id::text, e.aggregate_id) AS "order", o.total, e.event_type, e.payload, e.headers, e.status
FROM shop.orders AS o
FULL JOIN outbox.event AS e ON e.aggregate_id = o.id::text
WHERE o.id IS NULL OR e.id IS NULL
   OR (e.aggregate_type, e.event_type, coalesce(e.headers, '{}'), e.status)
      IS DISTINCT FROM ('order', 'order.created', '{}', 'pending')
   OR (e.payload->>'id', e.payload->>'total') IS DISTINCT FROM (o.id::text, o.total::text)
UNION ALL
SELECT 'orders: ' || count(*), NULL, NULL, NULL, NULL, NULL FROM shop.orders HAVING count(*) <> 4
