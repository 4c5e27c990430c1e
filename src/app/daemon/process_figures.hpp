// process_figures: what the kernel says of this process, as every Prometheus client exports it.
#pragma once

namespace outboxd::app {

// What cannot be read is 0.
struct process_figures {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  double open_descriptors = 0;
  double start_time = 0;  // seconds since 1970
};

process_figures read_process_figures();

}  // namespace outboxd::app
