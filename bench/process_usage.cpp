#include "process_usage.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace outboxd::bench {

process_usage usage_of(pid_t pid) {
  process_usage out;
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(stat, line)) throw std::runtime_error(fmt::format("process {} is gone", pid));
  // proc(5): fields 14 and 15 are utime and stime in clock ticks; the name, field 2, may contain blanks.
  std::istringstream fields(line.substr(line.rfind(')') + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  out.cpu_seconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));

  std::ifstream status(fmt::format("/proc/{}/status", pid));
  while (std::getline(status, line))
    if (line.starts_with("VmHWM:")) out.peak_rss_mb = std::stod(line.substr(6)) * 1024 / 1e6;
  return out;
}

}  // namespace outboxd::bench
