#include "stage/open_console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace outboxd::bench {
namespace {

const std::string said_at = "the console is at http://127.0.0.1:";

std::uint16_t port_in(const std::string& line) {
  return static_cast<std::uint16_t>(std::stoi(line.substr(line.find(said_at) + said_at.size())));
}

// Parses /proc/PID/stat from its third field on, because the second field is a name that may contain spaces.
std::vector<std::string> stat_of(pid_t pid) {
  std::string line;
  std::getline(std::ifstream(fmt::format("/proc/{}/stat", pid)), line);
  std::istringstream rest(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  std::vector<std::string> out{std::istream_iterator<std::string>(rest), {}};
  if (out.size() < 15) throw std::runtime_error(fmt::format("process {} is gone", pid));
  return out;
}

pid_t parent_of(pid_t pid) {
  return std::stoi(stat_of(pid)[1]);
}

// cutime and cstime.
double ended_children_seconds(pid_t pid) {
  const auto all = stat_of(pid);
  return (std::stod(all[13]) + std::stod(all[14])) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

open_console::open_console(const setup& on, const stage& where, std::uint16_t relay_port)
    : process_({.program = on.program("outboxd"),
                .arguments = {"console", "--console-listen", "127.0.0.1:0", "--console-relay-urls",
                              fmt::format("http://127.0.0.1:{}", relay_port)},
                .environment = {{"OUTBOXD_DATABASE_URL", where.url()}},
                .log_file = {}}),
      port_(port_in(process_.wait_line(said_at))) {}

double open_console::server_cpu_seconds(test::database& session) const {
  double out = ended_children_seconds(parent_of(session.backend_pid()));
  for (const auto& row : session.exec(
           "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name "
           "LIKE 'outboxd console%'"))
    out += usage_of(std::stoi(*row[0])).cpu_seconds;
  return out;
}

}  // namespace outboxd::bench
