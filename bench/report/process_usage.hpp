// process_usage: what another process has used so far, from /proc.
#pragma once

#include <sys/types.h>

namespace outboxd::bench {

struct process_usage {
  double cpu_seconds = 0;  // user and system, of all threads that live
  double wake_ups = 0;     // times that it gave up the processor to wait, and so was woken
  double peak_rss_mb = 0;  // VmHWM, in MB of 10^6 bytes
};

// Of a process that runs; throws std::runtime_error when it does not.
process_usage usage_of(pid_t pid);

}  // namespace outboxd::bench
