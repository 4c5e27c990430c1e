# shellcheck shell=bash disable=SC2154 # repo_root is that of lib.sh
# A minimal Debian 12 for the scripts that need a clean one. Sourced after lib.sh.

debian_mirror=${OUTBOXD_DEBIAN_MIRROR:-http://deb.debian.org/debian}

# make_debian: makes it with debootstrap, from OUTBOXD_DEBIAN_MIRROR or http://deb.debian.org/debian, and
# keeps it for the next time. Sets debian_dir. Needs root.
make_debian() {
  debian_dir=$repo_root/build/debian/base
  local log=$repo_root/build/debian/debootstrap.log
  have debootstrap || die "debootstrap is not installed. As root run: apt-get install debootstrap"
  if [ -e "$debian_dir/complete" ]; then return; fi
  say "Making a minimal Debian in build/debian."
  rm -rf "$debian_dir"
  mkdir -p "$repo_root/build/debian"
  supervise debootstrap --variant=minbase bookworm "$debian_dir" "$debian_mirror" >"$log" 2>&1 ||
    { tail -n 5 "$log" >&2 && die "debootstrap has failed: see above."; }
  touch "$debian_dir/complete"
}
