# shellcheck shell=bash disable=SC2034,SC2154 # the variables are shared by what tools/services sources
# For both private servers: their directory, lock, remembered ports and processes. Sourced by tools/services
# after lib.sh.

# Sets services_dir. Returns 1 if the directory does not exist and should not be created.
services_locate() {
  services_dir=${OUTBOXD_SERVICES_DIR:-$repo_root/build/services}
  if [ ! -d "$services_dir" ]; then
    [ "${1:-}" = --create ] || return 1
    mkdir -p "$services_dir" ||
      die "Cannot create $services_dir." \
        "Make its parent writable, or set OUTBOXD_SERVICES_DIR to another directory."
  fi
  services_dir=$(cd "$services_dir" && pwd -P)
  [ -O "$services_dir" ] ||
    die "$services_dir belongs to the user $(stat -c %U "$services_dir")." \
      "Run this as that user, or set OUTBOXD_SERVICES_DIR to a directory of your own."
  state_file=$services_dir/state
}

# Allows one start, stop or restart at a time. The servers must not inherit the lock, so start them with 9>&-.
services_lock() {
  exec 9>"$services_dir/lock" ||
    die "Cannot write to $services_dir. Check its permissions and the free disk space."
  flock -n 9 && return
  warn "Another tools/services is at work in $services_dir; waiting for it."
  flock -w 180 9 ||
    die "Another tools/services has held $services_dir/lock for three minutes. End it, then try again."
}

# Loads the ports, names and passwords of this pair of servers. A copied or moved directory gets new ones.
state_load() {
  made_for='' postgres_port='' socket_dir='' postgres_root=''
  postgres_home='' rabbitmq_root=''
  amqp_port='' dist_port='' epmd_port='' node='' password=''
  # shellcheck source=/dev/null
  if [ -f "$state_file" ]; then . "$state_file"; fi
  if [ "$made_for" = "$services_dir" ]; then return; fi
  if [ -n "$made_for" ]; then
    warn "$services_dir was copied or moved here from elsewhere; its servers start with empty data."
  fi
  made_for=$services_dir postgres_port='' socket_dir='' postgres_root='' postgres_home='' rabbitmq_root=''
  amqp_port='' dist_port='' epmd_port=''
  node=outboxd_$(random_hex 4)@localhost
  password=$(random_hex 16)
}
state_save() {
  local name
  if ! (
    umask 077
    for name in made_for postgres_port socket_dir postgres_root postgres_home rabbitmq_root \
      amqp_port dist_port epmd_port node password; do
      printf '%s=%q\n' "$name" "${!name}"
    done >"$state_file.new"
  ) || ! mv "$state_file.new" "$state_file"; then
    die "Cannot write $state_file. Check the free disk space."
  fi
}
random_hex() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }

# port_listening PORT: succeeds if a program accepts connections on the port. port_seen PORT: succeeds if the
# port is used in any way.
port_listening() { port_rows "$1" 0A; }
port_seen() { port_rows "$1" '..'; }
port_rows() {
  local tables=(/proc/net/tcp)
  if [ -r /proc/net/tcp6 ]; then tables+=(/proc/net/tcp6); fi
  awk -v port="$(printf ':%04X$' "$1")" -v state="^$2\$" \
    '$2 ~ port && $4 ~ state { hit = 1 } END { exit !hit }' "${tables[@]}"
}

# Prints a free port below the range that the kernel uses for outgoing connections.
free_port() {
  local port attempt
  for attempt in {1..200}; do
    port=$((20000 + (RANDOM * 32768 + RANDOM + attempt) % 12000))
    if ! port_seen "$port"; then
      echo "$port"
      return
    fi
  done
  die "Found no free TCP port between 20000 and 32000."
}

# settle_port REMEMBERED [VARIABLE]: prints the port to start on: the value of VARIABLE, else the remembered
# port if free, else a new port.
settle_port() {
  local remembered=$1 variable=${2:-} forced=''
  if [ -n "$variable" ]; then forced=${!variable:-}; fi
  if [ -n "$forced" ]; then
    [[ $forced =~ ^[1-9][0-9]{0,4}$ && $forced -le 65535 ]] ||
      die "$variable is '$forced', which is no TCP port: give a number from 1 to 65535."
    if port_listening "$forced"; then
      die "$variable asks for port $forced, but another program listens there." \
        "Choose another port, or unset $variable to have one chosen."
    fi
    echo "$forced"
  elif [ -n "$remembered" ] && ! port_listening "$remembered"; then
    echo "$remembered"
  else
    free_port
  fi
}

# Every process of the private RabbitMQ has this mark in its environment, so that it cannot be confused with
# other processes.
service_mark() { printf 'OUTBOXD_SERVICES_HOME=%s' "$services_dir"; }
is_ours() { [ -r "/proc/$1/environ" ] && grep -zqxF -- "$(service_mark)" "/proc/$1/environ" 2>/dev/null; }
our_processes() {
  local environ pid
  for environ in /proc/[0-9]*/environ; do
    pid=${environ#/proc/} pid=${pid%/environ}
    if is_ours "$pid"; then echo "$pid"; fi
  done
}

# A zombie counts as dead, because a container may have no process that reaps it.
is_alive() { [ -r "/proc/$1/stat" ] && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null; }
wait_gone() {
  local pid=$1 seconds=$2 i
  for ((i = 0; i < seconds * 20; i++)); do
    is_alive "$pid" || return 0
    sleep 0.05
  done
  return 1
}

need_disk() {
  local free
  free=$(df -Pk "$1" | awk 'NR == 2 { print $4 }')
  ((free > 256 * 1024)) ||
    die "Only $((free / 1024)) MB are free on the disk that holds $1. Free at least 256 MB, then try again."
}

# fail_with_log FILE MESSAGE: prints the end of a server's log and the message, and ends the script.
fail_with_log() {
  if [ -s "$1" ]; then
    warn "The last lines of $1:"
    tail -n 20 "$1" | sed 's/^/    /' >&2
  fi
  die "${@:2}"
}
