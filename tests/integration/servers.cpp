// servers: tools/services and signals.
#include "servers.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>

#include "stage.hpp"

namespace outboxd::test {
namespace {

bool is_stopped(const std::string& pid) {
  std::ifstream status{"/proc/" + pid + "/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("State:")) return line.find('T') != std::string::npos;
  return false;
}

}  // namespace

void restart_server(const std::vector<std::string>& options) {
  process_options how{.program = required_environment("OUTBOXD_TEST_SERVICES"),
                      .arguments = {"restart"},
                      .environment = {},
                      .log_file = {}};
  how.arguments.insert(how.arguments.end(), options.begin(), options.end());
  const auto done = run_program(how);
  REQUIRE_MESSAGE(done.exited(0), done.text());
}

std::string rabbitmqctl(const std::vector<std::string>& words) {
  const auto done = run_program({.program = required_environment("OUTBOXD_TEST_RABBITMQCTL"),
                                 .arguments = words,
                                 .environment = {},
                                 .log_file = {}});
  REQUIRE_MESSAGE(done.exited(0), done.text());
  return done.text();
}

// A shell holds the freeze: it sees the end of the pipe however this process ends, and wakes the broker again.
frozen_broker::frozen_broker() {
  std::string pid;
  std::ifstream{required_environment("OUTBOXD_SERVICES_DIR") + "/rabbitmq.pid"} >> pid;
  REQUIRE(!pid.empty());
  keeper_ = ::popen(fmt::format("kill -STOP {0}; cat >/dev/null; kill -CONT {0}", pid).c_str(), "we");
  REQUIRE(keeper_ != nullptr);
  eventually("the broker is frozen", [&] { return is_stopped(pid); });
}

frozen_broker::~frozen_broker() {
  ::pclose(keeper_);
}

}  // namespace outboxd::test
