# shellcheck shell=bash disable=SC2034,SC2154 # the variables are shared by what tools/services sources
# The private PostgreSQL: initialise, start, stop. Sourced by tools/services after lib-services.sh.
# PostgreSQL refuses to run as root, so root runs the server as the user postgres; other users run it as
# themselves.

as_postgres() {
  local clean=(env -i "PATH=$PATH" LC_ALL=C.UTF-8 "$@")
  if is_root; then
    (cd / && exec runuser -u postgres -- "${clean[@]}" 9>&-)
  else
    (cd / && exec "${clean[@]}" 9>&-)
  fi
}

# postgres_is VERSION: succeeds if postgres_bin has this major version.
postgres_is() { [[ $("$postgres_bin/postgres" --version) =~ \ $1(\.|[[:alpha:]]|$) ]]; }

# Sets postgres_bin: OUTBOXD_SERVICES_PGBIN, else the remembered directory, else the version of the data, else
# the newest version.
postgres_locate() {
  local version='' bin named=${OUTBOXD_SERVICES_PGBIN:-$postgres_home}
  if [ -n "$postgres_root" ] && [ -f "$postgres_root/data/PG_VERSION" ]; then
    version=$(<"$postgres_root/data/PG_VERSION")
  fi
  if [ -n "$named" ]; then
    postgres_bin=$named postgres_home=$named
    as_postgres test -x "$postgres_bin/initdb" ||
      die "There is no $postgres_bin/initdb that the user who runs PostgreSQL can reach." \
        "OUTBOXD_SERVICES_PGBIN names the directory of its programs."
    if [ -z "$version" ] || postgres_is "$version"; then return; fi
    die "The data in $postgres_root was made by PostgreSQL $version, and $postgres_bin has another version." \
      "Start anew with tools/services destroy, or set OUTBOXD_SERVICES_DIR to another directory."
  fi
  for bin in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV) \
    "$(dirname "$(command -v initdb || echo /nonexistent/initdb)")"; do
    if [ ! -x "$bin/initdb" ]; then continue; fi
    postgres_bin=$bin
    if [ -z "$version" ] || postgres_is "$version"; then return; fi
  done
  [ -z "$version" ] ||
    die "The data in $postgres_root was made by PostgreSQL $version, which is no longer installed." \
      "Install it, or start anew with: tools/services destroy"
  die "The PostgreSQL server is not installed. Run: tools/bootstrap"
}

postgres_paths() {
  postgres_data=$postgres_root/data
  postgres_log=$postgres_root/log
}

# Prints the postmaster's pid if it is alive and uses the private data.
postgres_pid() {
  local pid
  [ -n "$postgres_root" ] && pid=$(head -n 1 "$postgres_root/data/postmaster.pid" 2>/dev/null) &&
    [ -n "$pid" ] || return 1
  is_alive "$pid" && grep -zqxF -- "$postgres_root/data" "/proc/$pid/cmdline" 2>/dev/null && echo "$pid"
}

# Sets postgres_root: inside the services directory, or under /var/tmp if the user postgres cannot reach that
# directory.
postgres_place() {
  if [ -n "$postgres_root" ] && [ -d "$postgres_root" ]; then return; fi
  postgres_root=$services_dir/postgres
  rm -rf "$postgres_root"
  if is_root; then
    id postgres >/dev/null 2>&1 ||
      die "There is no user postgres, and PostgreSQL refuses to run as root. Run: tools/bootstrap"
    if ! as_postgres test -x "$services_dir"; then
      postgres_root=$(mktemp -d /var/tmp/outboxd-postgres-XXXXXX)
    fi
  fi
  mkdir -p "$postgres_root"
  chmod 700 "$postgres_root"
  if is_root; then chown postgres: "$postgres_root"; fi
}

# A socket's path may have at most 107 bytes, and the checkout's path may be long, so the socket is in a
# directory with a short path, which only this user can enter.
postgres_place_socket() {
  local base=/tmp
  if [ -n "$socket_dir" ]; then
    # Reuses the last directory, so that addresses stay the same.
    if mkdir -m 700 "$socket_dir" 2>/dev/null && is_root; then chown postgres: "$socket_dir"; fi
    if as_postgres test -O "$socket_dir"; then return; fi
  fi
  if ! is_root && [ -n "${XDG_RUNTIME_DIR:-}" ] && [ -w "$XDG_RUNTIME_DIR" ] &&
    [ ${#XDG_RUNTIME_DIR} -lt 60 ]; then
    base=$XDG_RUNTIME_DIR
  fi
  socket_dir=$(mktemp -d "$base/outboxd-XXXXXX") ||
    die "Cannot create a directory in $base. Check its permissions and the free disk space."
  if is_root; then chown postgres: "$socket_dir"; fi
}

# Initialises data.new and renames it, because an interrupted initdb must leave nothing that looks like a
# database.
postgres_initialise() {
  local secret=$postgres_root/secret output=$postgres_root/initdb.log
  say "Creating a PostgreSQL database in $postgres_root."
  rm -rf "$postgres_data" "$postgres_data.new"
  (umask 077 && echo "$password" >"$secret")
  if is_root; then chown postgres: "$secret"; fi
  as_postgres "$postgres_bin/initdb" -D "$postgres_data.new" -U outboxd_admin --pwfile="$secret" \
    -E UTF8 --locale=C.UTF-8 --auth-local=trust --auth-host=scram-sha-256 --no-instructions >"$output" 2>&1 ||
    fail_with_log "$output" "PostgreSQL's initdb failed. Mend what it says above, then try again."
  rm -f "$secret"
  echo "include = 'outboxd.conf'" >>"$postgres_data.new/postgresql.conf"
  mv "$postgres_data.new" "$postgres_data"
}

# The durability settings are PostgreSQL's defaults, because benchmarks must measure commits that survive a
# crash of the machine. Without fsync, data survives a crash of PostgreSQL alone, because the kernel has it.
postgres_configure() {
  local fsync=${OUTBOXD_SERVICES_FSYNC:-on}
  case $fsync in
    on | off) ;;
    *) die "OUTBOXD_SERVICES_FSYNC is '$fsync': give on or off." ;;
  esac
  cat >"$postgres_data/outboxd.conf" <<END
# Written by tools/services at every start.
listen_addresses = '127.0.0.1'
port = $postgres_port
unix_socket_directories = '$socket_dir'
max_connections = 400
max_prepared_transactions = 1000
fsync = $fsync
full_page_writes = $fsync
END
  if [ -n "${OUTBOXD_SERVICES_NOTIFY_PAGES:-}" ] && [ "$(<"$postgres_data/PG_VERSION")" -ge 17 ]; then
    echo "max_notify_queue_pages = $OUTBOXD_SERVICES_NOTIFY_PAGES" >>"$postgres_data/outboxd.conf"
  fi
  if is_root; then chown postgres: "$postgres_data/outboxd.conf"; fi
  mkdir -p "$services_dir/bin"
  {
    echo '#!/bin/sh'
    echo '# pg_ctl for the private PostgreSQL. Written by tools/services.'
    if is_root; then printf 'cd / && exec runuser -u postgres -- '; else printf 'exec '; fi
    printf '%q -D %q -l %q "$@"\n' "$postgres_bin/pg_ctl" "$postgres_data" "$postgres_log"
  } >"$services_dir/bin/pg_ctl"
  chmod 755 "$services_dir/bin/pg_ctl"
}

postgres_start() {
  local pid attempt
  if pid=$(postgres_pid); then
    postgres_locate
    if [ -n "${OUTBOXD_SERVICES_PGPORT:-}" ] && [ "$OUTBOXD_SERVICES_PGPORT" != "$postgres_port" ]; then
      die "OUTBOXD_SERVICES_PGPORT asks for port $OUTBOXD_SERVICES_PGPORT," \
        "but the private PostgreSQL already runs on port $postgres_port. Stop it first: tools/services stop"
    fi
    say "PostgreSQL already runs on 127.0.0.1:$postgres_port."
    return
  fi
  postgres_locate
  need_disk "$services_dir"
  postgres_port=$(settle_port "$postgres_port" OUTBOXD_SERVICES_PGPORT)
  starting+=(postgres)
  postgres_place
  postgres_place_socket
  postgres_paths
  state_save
  [ -f "$postgres_data/PG_VERSION" ] || postgres_initialise
  postgres_configure
  postgres_forget_stale_pid
  for attempt in 1 2 3; do
    as_postgres "$postgres_bin/pg_ctl" -D "$postgres_data" -l "$postgres_log" -w -t 60 -s start \
      >/dev/null 2>&1 </dev/null && break
    # After a kill -9, the old children may need a moment to end.
    if [ "$attempt" = 3 ]; then
      fail_with_log "$postgres_log" "PostgreSQL did not start." \
        "Mend what its log says; if the data is damaged, start anew with: tools/services destroy"
    fi
    sleep 1
  done
  postgres_create_database
  say "PostgreSQL runs on 127.0.0.1:$postgres_port."
}

# After a reboot, the pid in the file may belong to another process, which PostgreSQL takes for a running
# server.
postgres_forget_stale_pid() {
  local file=$postgres_data/postmaster.pid pid
  [ -f "$file" ] || return 0
  pid=$(head -n 1 "$file")
  if [ -n "$pid" ] && is_alive "$pid"; then rm -f "$file"; fi
  if [ -s "$postgres_log" ] && [ "$(stat -c %s "$postgres_log")" -gt 20000000 ]; then : >"$postgres_log"; fi
}

postgres_psql() {
  as_postgres "$postgres_bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 \
    -h "$socket_dir" -p "$postgres_port" -U outboxd_admin -d postgres
}

postgres_create_database() {
  local make="select 'create database outbox_dev'"
  make+=" where not exists (select from pg_database where datname = 'outbox_dev') \\gexec"
  postgres_psql >/dev/null <<<"alter role outboxd_admin password '$password'; $make" ||
    fail_with_log "$postgres_log" "PostgreSQL runs, but the database outbox_dev could not be created."
}

# postgres_stop [fast|immediate]
postgres_stop() {
  local pid
  if ! pid=$(postgres_pid); then
    say "PostgreSQL is not running."
  else
    postgres_locate
    postgres_paths
    as_postgres "$postgres_bin/pg_ctl" -D "$postgres_data" -m "${1:-fast}" -w -t 60 -s stop >/dev/null 2>&1 ||
      as_postgres "$postgres_bin/pg_ctl" -D "$postgres_data" -m immediate -w -t 30 -s stop \
        >/dev/null 2>&1 || true
    wait_gone "$pid" 5 || die "PostgreSQL (process $pid) does not stop. Its log is $postgres_log."
    say "PostgreSQL is stopped."
  fi
  if [ -n "$socket_dir" ] && [ "${2:-}" != --keep-socket ]; then rm -rf "$socket_dir"; fi
}
