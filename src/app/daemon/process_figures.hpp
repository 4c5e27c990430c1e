// process_figures: the process metrics that every Prometheus client exports, read from the kernel.
#pragma once

namespace outboxd::app {

// Values that cannot be read are 0.
struct process_figures {
  double cpu_seconds = 0;
  double resident_bytes = 0;
  double open_descriptors = 0;
  double start_time = 0;  // seconds since 1970
};

process_figures read_process_figures();

}  // namespace outboxd::app
