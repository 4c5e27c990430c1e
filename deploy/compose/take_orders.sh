#!/bin/sh
# The shop of docker-compose.yml, open all day: some orders each second.
set -eu

while sleep 1; do python3 producer.py "${ORDERS_PER_SECOND:-3}"; done
