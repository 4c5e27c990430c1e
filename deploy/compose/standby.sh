#!/bin/sh
# The standby of docker-compose.yml: a copy of the primary, which it follows from then on. Run as the user
# postgres.
#
#   standby.sh PRIMARY [ARGUMENT...]     the arguments go to postgres
set -eu

primary=$1
shift
export PGPASSWORD="$REPLICATION_PASSWORD"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  # A copy that was broken off is begun anew. -R makes it a standby, and keeps the password for it.
  find "$PGDATA" -mindepth 1 -delete
  pg_basebackup -d "$primary" -D "$PGDATA" -R -X stream -c fast
  chmod 700 "$PGDATA"
fi
exec postgres "$@"
