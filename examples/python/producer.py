"""Takes orders: each one and its event are written in one transaction. psycopg 3.

    DATABASE_URL=postgresql://... python3 producer.py 10
"""
import json
import os
import sys

import psycopg


def take_order(connection, total):
    # Both are committed, or neither is.
    with connection.transaction():
        (order,) = connection.execute(
            "INSERT INTO shop.orders (total) VALUES (%s) RETURNING id", (total,)
        ).fetchone()
        connection.execute(
            "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
            " VALUES ('order', %s, 'order.created', %s)",
            (str(order), json.dumps({"id": order, "total": str(total)})),
        )
    return order


def main():
    orders = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        for i in range(orders):
            print("took order", take_order(connection, 10 + i))


main()
