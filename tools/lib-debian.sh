# shellcheck shell=bash disable=SC2154 # repo_root is that of lib.sh
# Minimal Debians for the scripts that need a clean one, or a server of another release. Sourced after lib.sh.
#
# They are kept in build/cache, or in OUTBOXD_CACHE_DIR. A Debian without the file `complete` is incomplete,
# and is made again.

cache_dir=${OUTBOXD_CACHE_DIR:-$repo_root/build/cache}
debian_mirror=${OUTBOXD_DEBIAN_MIRROR:-http://deb.debian.org/debian}

# make_debian RELEASE: makes the release with debootstrap, from OUTBOXD_DEBIAN_MIRROR or
# http://deb.debian.org/debian, if it is not in the cache. Sets debian_dir. Needs root.
make_debian() {
  local release=$1
  debian_dir=$cache_dir/debian-$release
  local log=$debian_dir.log
  if [ -e "$debian_dir/complete" ]; then return; fi
  have debootstrap || die "debootstrap is not installed. As root run: apt-get install debootstrap"
  say "Making a minimal Debian $release in $debian_dir."
  mkdir -p "$cache_dir"
  run_debootstrap "$release" "$debian_dir" >"$log" 2>&1 ||
    { tail -n 5 "$log" >&2 && die "debootstrap has failed: see above."; }
  touch "$debian_dir/complete"
}

# run_debootstrap RELEASE DIRECTORY: runs debootstrap in a private mount namespace, so that nothing stays
# mounted. If debootstrap is older than the release, uses its script for sid.
run_debootstrap() {
  local script=/usr/share/debootstrap/scripts/$1
  if [ ! -e "$script" ]; then script=/usr/share/debootstrap/scripts/sid; fi
  rm -rf --one-file-system "$2"
  supervise unshare --mount debootstrap --variant=minbase "$1" "$2" "$debian_mirror" "$script"
}

# exec_in_root ROOT DIRECTORY COMMAND...: executes the command in that root instead of this shell. DIRECTORY
# and /tmp are at the same paths there. The mounts end with the last process.
exec_in_root() {
  # shellcheck disable=SC2016 # for the shell inside
  exec unshare --mount sh -c '
    root=$1 shared=$2 && shift 2 &&
      mount -t proc proc "$root/proc" &&
      mount --rbind /sys "$root/sys" &&
      mount --rbind /dev "$root/dev" &&
      mount --bind /tmp "$root/tmp" &&
      mkdir -p "$root$shared" &&
      mount --bind "$shared" "$root$shared" &&
      exec chroot "$root" "$@"' enter-root "$@"
}

# copy_debian RELEASE DIRECTORY: makes a clean Debian in the directory, which can reach its package server.
# Sets clean_root. The caller removes the directory.
copy_debian() {
  make_debian "$1"
  clean_root=$2
  rm -rf --one-file-system "$clean_root"
  mkdir -p "$clean_root"
  cp -a "$debian_dir/." "$clean_root"
  cp /etc/resolv.conf /etc/hosts "$clean_root/etc/"
  # An outdated mirror is good enough for a test.
  echo 'Acquire::Check-Valid-Until "false";' >"$clean_root/etc/apt/apt.conf.d/90mirror"
  in_clean_root apt-get -q update >"$clean_root.log" 2>&1 || {
    tail -n 5 "$clean_root.log" >&2
    die "The clean Debian reaches no package server."
  }
}

# in_clean_root COMMAND...: runs the command in clean_root, with its own processes, memory and terminals. All
# its processes end with the command. The root is a mount, so that a script in it can make a clean Debian,
# too.
in_clean_root() {
  # shellcheck disable=SC2016 # for the shell inside
  unshare --mount --pid --fork --kill-child sh -c '
    root=$1 && shift &&
      mount --bind "$root" "$root" &&
      mount -t proc proc "$root/proc" &&
      mount -t sysfs -o ro sysfs "$root/sys" &&
      mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" &&
      mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts" &&
      exec chroot "$root" "$@"' in-clean-root "$clean_root" \
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"
}
