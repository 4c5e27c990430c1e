# shellcheck shell=bash disable=SC2034,SC2154 # the variables are shared by what tools/services sources
# The private RabbitMQ with its own name server (epmd): start, stop, rabbitmqctl. Sourced by tools/services
# after lib-services.sh. Debian's /usr/sbin/rabbitmq-server switches the user and ignores the environment, so
# this file calls RabbitMQ's own scripts.

rabbitmq_locate() {
  rabbitmq_home=$services_dir/rabbitmq
  rabbitmq_log=$rabbitmq_home/log/server.log
  rabbitmq_bin=/usr/lib/rabbitmq/bin
  rabbitmq_settle_root
  if [ -n "$rabbitmq_root" ]; then
    [ -x "$rabbitmq_root$rabbitmq_bin/rabbitmq-server" ] ||
      die "There is no RabbitMQ in the root $rabbitmq_root (OUTBOXD_SERVICES_RABBITMQ_ROOT)."
    is_root || die "To run RabbitMQ in the root $rabbitmq_root needs root."
    return
  fi
  if [ ! -x "$rabbitmq_bin/rabbitmq-server" ]; then
    rabbitmq_bin=$(dirname "$(command -v rabbitmq-server || echo /nonexistent/x)")
  fi
  if [ ! -x "$rabbitmq_bin/rabbitmq-server" ] || ! have epmd; then
    die "RabbitMQ is not installed. Run: tools/bootstrap"
  fi
}

# Sets rabbitmq_root: the root in which the broker runs by chroot, or empty for the installed RabbitMQ. Data
# is always used with the root in which it was created.
rabbitmq_settle_root() {
  local wanted=${OUTBOXD_SERVICES_RABBITMQ_ROOT-$rabbitmq_root}
  if [ "$wanted" = "$rabbitmq_root" ]; then return; fi
  [ ! -f "$rabbitmq_home/complete" ] ||
    die "The data in $rabbitmq_home was made by RabbitMQ of ${rabbitmq_root:-this machine}," \
      "but OUTBOXD_SERVICES_RABBITMQ_ROOT names ${wanted:-this machine}." \
      "Start anew with tools/services destroy, or set OUTBOXD_SERVICES_DIR to another directory."
  rabbitmq_root=$wanted
}

# Executes a RabbitMQ program instead of this shell, with only the private settings in its environment. Call
# it in a subshell.
rabbitmq_exec() {
  local schedulers local_only='-kernel inet_dist_use_interface {127,0,0,1}'
  schedulers=$(cores)
  if ((schedulers > 4)); then schedulers=4; fi
  ulimit -Sn 65536 2>/dev/null || ulimit -Sn "$(ulimit -Hn)" 2>/dev/null || true
  local within=(exec)
  if [ -n "$rabbitmq_root" ]; then within=(exec_in_root "$rabbitmq_root" "$services_dir"); fi
  local path=$PATH
  if [ -n "$rabbitmq_root" ]; then path=/usr/sbin:/usr/bin:/sbin:/bin; fi
  "${within[@]}" env -i "PATH=$path" LC_ALL=C.UTF-8 "$(service_mark)" \
    HOME="$rabbitmq_home" \
    ERL_EPMD_PORT="$epmd_port" ERL_EPMD_ADDRESS=127.0.0.1 \
    RUNNING_UNDER_SYSTEMD=true \
    RABBITMQ_NODENAME="$node" \
    RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT="$amqp_port" RABBITMQ_DIST_PORT="$dist_port" \
    RABBITMQ_MNESIA_BASE="$rabbitmq_home/mnesia" RABBITMQ_LOG_BASE="$rabbitmq_home/log" \
    RABBITMQ_CONF_ENV_FILE="$rabbitmq_home/empty.conf" RABBITMQ_CONFIG_FILE="$rabbitmq_home/rabbitmq.conf" \
    RABBITMQ_CONFIG_FILES="$rabbitmq_home/conf.d" \
    RABBITMQ_ADVANCED_CONFIG_FILE="$rabbitmq_home/advanced.config" \
    RABBITMQ_ENABLED_PLUGINS_FILE="$rabbitmq_home/enabled_plugins" \
    RABBITMQ_SCHEDULER_BIND_TYPE=u \
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+S $schedulers:$schedulers $local_only" \
    RABBITMQ_CTL_ERL_ARGS="$local_only" \
    "$@" 9>&-
}

# rabbitmq_process NAME: prints the pid in NAME.pid if that process is alive and belongs to this RabbitMQ.
rabbitmq_process() {
  local pid
  pid=$(cat "$services_dir/$1.pid" 2>/dev/null) && [ -n "$pid" ] &&
    is_alive "$pid" && is_ours "$pid" && echo "$pid"
}

rabbitmq_configure() {
  mkdir -p "$rabbitmq_home/log" "$rabbitmq_home/mnesia" "$rabbitmq_home/conf.d"
  chmod 700 "$rabbitmq_home"
  : >"$rabbitmq_home/empty.conf"
  echo '[].' >"$rabbitmq_home/enabled_plugins"
  echo '[].' >"$rabbitmq_home/advanced.config"
  cat >"$rabbitmq_home/rabbitmq.conf" <<END
# Written by tools/services at every start.
listeners.tcp.local = 127.0.0.1:$amqp_port
default_user = outboxd
default_pass = $password
disk_free_limit.absolute = 100MB
log.file = server.log
log.console = false
END
  mkdir -p "$services_dir/bin"
  {
    printf '#!/bin/sh\n# rabbitmqctl for the private RabbitMQ. Written by tools/services.\n'
    printf 'OUTBOXD_SERVICES_DIR=%q exec %q rabbitmqctl "$@"\n' "$services_dir" "$repo_root/tools/services"
  } >"$services_dir/bin/rabbitmqctl"
  cat >"$services_dir/bin/rabbitmq-eval" <<END
#!/bin/sh
# Evaluates Erlang expressions in the private RabbitMQ, like "rabbitmqctl eval", but without the second of CPU
# time that rabbitmqctl needs to start. Written by tools/services.
export HOME=$(printf '%q' "$rabbitmq_home") ERL_EPMD_PORT=$epmd_port
answer=\$(printf '%s\n' "\$1" | erl_call -h "eval\$\$" -sname $node -e) || exit 1
printf '%s\n' "\$answer"
case \$answer in "{ok, "*) ;; *) exit 1 ;; esac
END
  chmod 755 "$services_dir/bin/rabbitmqctl" "$services_dir/bin/rabbitmq-eval"
}

# Succeeds if the broker answers the protocol header, which proves that it accepts clients; a listening socket
# alone does not.
rabbitmq_answers() {
  (
    exec 3<>"/dev/tcp/127.0.0.1/$amqp_port" || exit 1
    printf 'AMQP\x00\x00\x09\x01' >&3
    [ "$(timeout 5 head -c 1 <&3 | od -An -tx1)" = ' 01' ]
  ) 2>/dev/null
}

# Starts the broker without waiting. rabbitmq_await waits.
rabbitmq_launch() {
  rabbitmq_locate
  if rabbitmq_process rabbitmq >/dev/null; then
    if [ -n "${OUTBOXD_SERVICES_AMQP_PORT:-}" ] && [ "$OUTBOXD_SERVICES_AMQP_PORT" != "$amqp_port" ]; then
      die "OUTBOXD_SERVICES_AMQP_PORT asks for port $OUTBOXD_SERVICES_AMQP_PORT," \
        "but the private RabbitMQ already runs on port $amqp_port. Stop it first: tools/services stop"
    fi
    say "RabbitMQ already runs on 127.0.0.1:$amqp_port."
    return
  fi
  need_disk "$services_dir"
  amqp_port=$(settle_port "$amqp_port" OUTBOXD_SERVICES_AMQP_PORT)
  starting+=(rabbitmq)
  # These two ports may change. Leftover processes of a killed broker are ended first.
  rabbitmq_end_processes
  dist_port=$(settle_port "$dist_port")
  epmd_port=$(settle_port "$epmd_port")
  state_save
  # An unfinished first start leaves half a database.
  if [ ! -f "$rabbitmq_home/complete" ]; then rm -rf "$rabbitmq_home"; fi
  rabbitmq_configure
  rabbitmq_spawn epmd epmd -port "$epmd_port" -address 127.0.0.1
  rabbitmq_spawn rabbitmq "$rabbitmq_bin/rabbitmq-server"
}

# rabbitmq_spawn NAME PROGRAM...: starts the program in the background, in its own session, so that Ctrl-C
# does not reach it.
rabbitmq_spawn() {
  local name=$1 pid i
  shift
  (cd "$rabbitmq_home" && rabbitmq_exec setsid "$@") >>"$rabbitmq_home/log/$name.out" 2>&1 </dev/null &
  pid=$!
  echo "$pid" >"$services_dir/$name.pid"
  # The process has the mark only after its exec.
  for ((i = 0; i < 100; i++)); do
    if is_ours "$pid" || ! is_alive "$pid"; then return; fi
    sleep 0.02
  done
}

rabbitmq_await() {
  local pid i
  [[ " ${starting[*]} " == *' rabbitmq '* ]] || return 0
  for ((i = 0; i < 1200; i++)); do
    if rabbitmq_answers; then break; fi
    pid=$(rabbitmq_process rabbitmq) || rabbitmq_failed "RabbitMQ ended while it was starting."
    sleep 0.1
  done
  ((i < 1200)) || rabbitmq_failed "RabbitMQ did not accept connections within two minutes (process $pid)."
  touch "$rabbitmq_home/complete"
  say "RabbitMQ runs on 127.0.0.1:$amqp_port."
}
rabbitmq_failed() {
  local log=$rabbitmq_log
  if [ ! -s "$log" ]; then log=$rabbitmq_home/log/rabbitmq.out; fi
  fail_with_log "$log" \
    "$1 Mend what its log says; if the data is damaged, start anew with: tools/services destroy"
}

# rabbitmq_stop [--kill]: --kill ends the broker like a power cut.
rabbitmq_stop() {
  local pid
  if ! pid=$(rabbitmq_process rabbitmq); then
    rabbitmq_end_processes
    say "RabbitMQ is not running."
    return
  fi
  if [ "${1:-}" = --kill ]; then
    kill -KILL "$pid" 2>/dev/null || true
  else
    kill -TERM "$pid" 2>/dev/null || true
  fi
  wait_gone "$pid" "${rabbitmq_grace:-30}" || kill -KILL "$pid" 2>/dev/null || true
  wait_gone "$pid" 5 || die "RabbitMQ (process $pid) does not stop. Its log is in $services_dir/rabbitmq/log."
  rabbitmq_end_processes
  say "RabbitMQ is stopped."
}

# Ends all remaining processes of this RabbitMQ: epmd, a broker's children, a waiting rabbitmqctl.
rabbitmq_end_processes() {
  local pid
  for pid in $(our_processes); do kill -KILL "$pid" 2>/dev/null || true; done
  for pid in $(our_processes); do wait_gone "$pid" 5 || true; done
  rm -f "$services_dir/rabbitmq.pid" "$services_dir/epmd.pid"
}

rabbitmq_ctl() {
  rabbitmq_locate
  rabbitmq_process rabbitmq >/dev/null || die "RabbitMQ is not running. Start it with: tools/services start"
  rabbitmq_exec "$rabbitmq_bin/rabbitmqctl" -n "$node" "$@"
}
