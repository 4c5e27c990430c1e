# shellcheck shell=bash
# For every script under tools/: messages, clean-up at exit, building a preset, borrowing the private
# services. Source it right after `set -euo pipefail`. It does not change the directory and prints nothing.

repo_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
warn() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
  warn "$*"
  exit 1
}
usage_error() {
  warn "$* See ${0##*/} --help."
  exit 2
}
# whole_number OPTION VALUE, seed_number OPTION VALUE: end the script if the value is not such a number. Do
# not call them in $(...), because then only the subshell would end.
whole_number() {
  [[ ${2:-} =~ ^[1-9][0-9]{0,5}$ ]] ||
    usage_error "$1 needs a whole number from 1 to 999999, not '${2:-}'."
}
seed_number() {
  [[ ${2:-} =~ ^[1-9][0-9]{0,17}$ ]] ||
    usage_error "$1 needs a whole number from 1 on, not '${2:-}'."
}
have() { command -v "$1" >/dev/null 2>&1; }
is_root() { [ "$(id -u)" = 0 ]; }

# Prints the comment block at the top of the calling script, without the #! line, as its help.
print_help() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }

free_megabytes() { df -Pm "$1" | awk 'NR == 2 { print $4 }'; }
in_repo() { (cd "$repo_root" && exec "$@"); }
cores() { nproc 2>/dev/null || echo 2; }

# await WHAT COMMAND...: repeats the command until it succeeds, for at most a minute. After that, calls
# last_words, a function of the script that shows the last output of its programs.
await() {
  local what=$1 end=$((SECONDS + 60))
  shift
  until "$@"; do
    if ((SECONDS >= end)); then
      last_words >&2
      die "Waited for a minute in vain: $what. Above: what the programs said last."
    fi
    sleep 0.2
  done
}

# at_exit COMMAND...: runs the command when this script ends, by success, failure, Ctrl-C or SIGTERM. The last
# command runs first.
at_exit_commands=()
at_exit() {
  local quoted
  printf -v quoted '%q ' "$@"
  if [ ${#at_exit_commands[@]} -eq 0 ]; then
    trap run_at_exit EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
  fi
  at_exit_commands+=("$quoted")
}
run_at_exit() {
  local status=$? i
  trap '' HUP INT TERM
  set +e
  end_supervised
  for ((i = ${#at_exit_commands[@]} - 1; i >= 0; i--)); do eval "${at_exit_commands[i]}"; done
  exit "$status"
}

# supervise COMMAND...: runs the command so that a signal to this script ends the command at once, with all
# its children. (While a command runs in the foreground, bash would delay a SIGTERM until the command ends.)
supervised=''
supervise() {
  local status=0
  at_exit :
  set -m
  "$@" </dev/null &
  supervised=$!
  set +m
  wait "$supervised" || status=$?
  supervised=''
  return "$status"
}
end_supervised() {
  if [ -n "$supervised" ]; then end_group "$supervised"; fi
}
end_group() {
  local i
  kill -TERM -- "-$1" 2>/dev/null
  for ((i = 0; i < 100; i++)); do
    kill -0 -- "-$1" 2>/dev/null || return
    sleep 0.1
  done
  kill -KILL -- "-$1" 2>/dev/null
}

# beside LOG COMMAND...: runs one command in the background, with its output in the file. A signal to this
# script ends the command with all its children. await_beside: waits for the end, prints the output, and
# returns the status.
beside='' beside_log=''
beside() {
  beside_log=$1
  shift
  at_exit end_beside
  set -m
  "$@" </dev/null >"$beside_log" 2>&1 &
  beside=$!
  set +m
}
await_beside() {
  local status=0
  wait "$beside" || status=$?
  beside=''
  cat "$beside_log"
  return "$status"
}
end_beside() {
  if [ -n "$beside" ]; then end_group "$beside"; fi
}

# build_preset PRESET [TARGET...]: configures and builds the preset in build/PRESET, and shows the progress.
# Ends the script if that fails.
build_preset() {
  local preset=$1 log line
  shift
  mkdir -p "$repo_root/build"
  log=$repo_root/build/configure-$preset.log
  say "Building the $preset preset${*:+ ($*)} in build/$preset."
  supervise in_repo cmake --preset "$preset" >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    die "CMake could not configure the $preset preset (above: the end of build/${log##*/})." \
      "If a package is missing, run tools/bootstrap."
  }
  sed -n 's/^-- note: //p' "$log" | while read -r line; do say "$line"; done
  NINJA_STATUS='[%f of %t, %es] ' \
    supervise in_repo cmake --build --preset "$preset" -j "$(cores)" ${1:+--target "$@"} && return
  [ "$(free_megabytes "$repo_root/build")" -ge 50 ] ||
    die "The disk is full: build/ has less than 50 MB left. A build of everything takes about 3 GB."
  die "The $preset preset does not build: the compiler's messages are above."
}

# borrow_services: starts the private PostgreSQL and RabbitMQ if needed, exports their addresses, and stops
# the servers at exit that it has started. borrow_services --keep: leaves all servers running.
borrow_services() {
  local services=$repo_root/tools/services part
  for part in postgres rabbitmq; do
    if [ "${1:-}" != --keep ] && ! "$services" status "$part" >/dev/null 2>&1; then
      at_exit "$services" stop "$part"
    fi
  done
  "$services" start || exit 1
  part=$("$services" env) || exit 1
  eval "$part"
}
