#include "report/process_usage.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace outboxd::bench {
namespace {

void add_thread(const std::filesystem::path& thread, process_usage& to) {
  // CPU time in nanoseconds: /proc/PID/stat counts in ticks of 10 ms, which is too coarse for an idle relay.
  double nanoseconds = 0;
  std::ifstream(thread / "schedstat") >> nanoseconds;
  to.cpu_seconds += nanoseconds / 1e9;
  std::ifstream status(thread / "status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("voluntary_ctxt_switches:")) to.wake_ups += std::stod(line.substr(24));
}

}  // namespace

process_usage usage_of(pid_t pid) {
  process_usage out;
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) out.peak_rss_mb = std::stod(line.substr(6)) * 1024 / 1e6;
  if (out.peak_rss_mb == 0) throw std::runtime_error(fmt::format("process {} is gone", pid));
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid)))
    add_thread(thread.path(), out);
  return out;
}

}  // namespace outboxd::bench
