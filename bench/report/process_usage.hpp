// process_usage: resources used so far by another process, from /proc.
#pragma once

#include <sys/types.h>

namespace outboxd::bench {

struct process_usage {
  double cpu_seconds = 0;  // user and system time of all live threads
  double wake_ups = 0;     // voluntary context switches
  double peak_rss_mb = 0;  // VmHWM, in MB of 10^6 bytes
};

// Throws std::runtime_error if the process does not run.
process_usage usage_of(pid_t pid);

}  // namespace outboxd::bench
