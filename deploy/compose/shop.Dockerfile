# The shop of docker-compose.yml, profile demo: the producer and the consumer of examples/python.
FROM debian:trixie-slim
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3-psycopg python3-pika \
 && rm -rf /var/lib/apt/lists/*
COPY examples/python /shop
COPY deploy/compose/take_orders.sh /shop/take_orders.sh
USER 10001
WORKDIR /shop
CMD ["sh", "take_orders.sh"]
