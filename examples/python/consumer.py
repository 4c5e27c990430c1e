"""Writes an invoice for each order, once, however often its event is delivered. psycopg 3 and pika.

    DATABASE_URL=postgresql://... AMQP_URL=amqp://... python3 consumer.py
"""
import json
import os
import signal
import sys

import pika
import psycopg

NAME = "invoices.python"  # of the queue, and of the effect for first_time


def handle(database, event_id, order):
    # The record of the event and its effect are committed together.
    with database.transaction():
        (first,) = database.execute("SELECT outbox.first_time(%s, %s)", (NAME, event_id)).fetchone()
        if first:
            database.execute(
                "INSERT INTO shop.invoices (consumer, order_id, total) VALUES (%s, %s, %s)",
                (NAME, order["id"], order["total"]),
            )
    return first


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    database = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
    channel = pika.BlockingConnection(pika.URLParameters(os.environ["AMQP_URL"])).channel()
    channel.exchange_declare("outbox", "topic", durable=True)
    channel.queue_declare(NAME, durable=True)
    channel.queue_bind(NAME, "outbox", "order.created")
    channel.basic_qos(prefetch_count=50)
    print("waits for orders", flush=True)
    for delivery, properties, body in channel.consume(NAME):
        order = json.loads(body)
        if handle(database, properties.message_id, order):
            print("wrote the invoice of order", order["id"], flush=True)
        # Only now: whatever fails before brings the message back.
        channel.basic_ack(delivery.delivery_tag)


main()
