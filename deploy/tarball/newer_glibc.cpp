// newer_glibc: what outboxd and Debian 12's libstdc++.a take from a C library newer than 2.31, for the
// tarball's program.
#include "newer_glibc.hpp"

#include <dirent.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern "C" {

// glibc 2.32: whether there has only been one thread. "No" is always safe: shared pointers then count
// atomically.
extern char __libc_single_threaded;
char __libc_single_threaded = 0;

// Closes what is open now, and some numbers above: another thread may open a file before the program starts.
// Numbers that are not open are no error.
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t* actions, int from) {
  constexpr int more = 64;
  int highest = from;
  if (DIR* const directory = opendir("/proc/self/fd"); directory != nullptr) {
    while (const dirent* const one = readdir(directory)) highest = std::max(highest, std::atoi(one->d_name));
    closedir(directory);
  }
  for (int file = from; file <= highest + more; ++file)
    if (posix_spawn_file_actions_addclose(actions, file) == ENOMEM) return ENOMEM;
  return 0;
}

// glibc 2.36, for std::random_device.
std::uint32_t arc4random();
std::uint32_t arc4random() {
  std::uint32_t out = 0;
  if (getentropy(&out, sizeof out) != 0) std::abort();
  return out;
}
}
