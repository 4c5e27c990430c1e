#include "app/daemon/core_dumps.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace outboxd::app {

// With a limit of 0 the kernel writes no file, but still pipes the memory to a program that core_pattern
// names. With a limit of 1 it does neither (core(5); fs/coredump.c).
void forbid_core_dumps() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1);
  ::setrlimit(RLIMIT_CORE, &limit);
}

}  // namespace outboxd::app
