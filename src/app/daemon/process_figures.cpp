#include "app/daemon/process_figures.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace outboxd::app {
namespace {

// Returns the fields of /proc/self/stat from field 3 on (proc(5)), after the name, which may contain any
// character.
std::vector<std::string> stat_fields() {
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(text.substr(name_end + 1));
  return {std::istream_iterator<std::string>(rest), {}};
}

double boot_time() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("btime ")) return std::stod(line.substr(6));
  return 0;
}

}  // namespace

process_figures read_process_figures() {
  process_figures out;
  constexpr std::size_t start_time = 22 - 3, resident_pages = 24 - 3;
  if (const auto fields = stat_fields(); fields.size() > resident_pages) {
    out.start_time =
        boot_time() + std::stod(fields[start_time]) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    out.resident_bytes = std::stod(fields[resident_pages]) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  }
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) == 0) {
    const auto of = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    out.cpu_seconds = of(used.ru_utime) + of(used.ru_stime);
  }
  std::error_code failed;
  for (std::filesystem::directory_iterator at("/proc/self/fd", failed), end; !failed && at != end;
       at.increment(failed))
    ++out.open_descriptors;
  return out;
}

}  // namespace outboxd::app
