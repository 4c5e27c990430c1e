#!/bin/sh
# Run once by PostgreSQL's image when it has initialised the primary of docker-compose.yml: the standby may
# replicate.
set -eu

psql -v ON_ERROR_STOP=1 -v password="$REPLICATION_PASSWORD" -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<'END'
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'password';
END
echo 'host replication replicator all scram-sha-256' >>"$PGDATA/pg_hba.conf"
