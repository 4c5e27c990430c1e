// servers: tools/services and signals.
#include "support/servers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "support/broker_admin.hpp"
#include "support/database.hpp"
#include "support/eventually.hpp"
#include "support/program.hpp"

namespace outboxd::test {
namespace {

using namespace std::chrono_literals;

// A server's start takes seconds, on a machine with other work many of them.
constexpr auto time_limit = 300s;

std::string run(const char* variable, const std::vector<std::string>& words) {
  const auto done = run_program(
      {.program = required_environment(variable), .arguments = words, .environment = {}, .log_file = {}},
      time_limit);
  if (!done.exited(0))
    throw std::runtime_error{fmt::format("{} failed: {}", fmt::join(words, " "), done.text())};
  return done.text();
}

// Mnesia keeps what was declared last in memory for a while: a binding that was made a second ago would be
// gone after a crash, and good events would use up their attempts for that. Khepri, which newer brokers have
// instead, writes to disk before it answers.
void save_topology() {
  broker_eval("case mnesia:system_info(is_running) of yes -> dumped = mnesia:dump_log(); no -> dumped end.");
}

}  // namespace

void set_memory_watermark(const std::string& fraction) {
  broker_eval(fmt::format("ok = vm_memory_monitor:set_vm_memory_high_watermark({}).", fraction));
}

std::string services(const std::vector<std::string>& words) {
  return run("OUTBOXD_TEST_SERVICES", words);
}

void restart_server(const std::vector<std::string>& options) {
  const auto says = [&](const char* word) { return std::ranges::find(options, word) != options.end(); };
  if (says("rabbitmq") && says("--kill")) save_topology();
  std::vector<std::string> words{"restart"};
  words.insert(words.end(), options.begin(), options.end());
  services(words);
}

int broker_pid() {
  int pid = 0;
  std::ifstream{required_environment("OUTBOXD_SERVICES_DIR") + "/rabbitmq.pid"} >> pid;
  return pid;
}

bool is_stopped(int pid) {
  std::ifstream status{fmt::format("/proc/{}/status", pid)};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("State:")) return line.find('T') != std::string::npos;
  return false;
}

// A shell holds the freeze: it sees the end of the pipe however this process ends, and wakes the broker
// again.
frozen_broker::frozen_broker() {
  const int pid = broker_pid();
  if (pid == 0) throw std::runtime_error{"the broker does not run"};
  keeper_ = ::popen(fmt::format("kill -STOP {0}; cat >/dev/null; kill -CONT {0}", pid).c_str(), "we");
  if (keeper_ == nullptr) throw std::runtime_error{"popen"};
  eventually("the broker is frozen", [&] { return is_stopped(pid); });
}

frozen_broker::~frozen_broker() {
  ::pclose(keeper_);
}

}  // namespace outboxd::test
