// relay: one outboxd run as a process of its own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/process_usage.hpp"
#include "stage/setup.hpp"
#include "stage/stage.hpp"
#include "support/process.hpp"

namespace outboxd::bench {

// The default of relay.lanes, and what the promised figures are measured with.
inline constexpr int default_lanes = 2;

// What every outboxd run is started with.
std::vector<std::string> relay_arguments(const setup& on, const std::vector<std::string>& flags);
std::map<std::string, std::string> relay_environment(const setup& on, const stage& where);

class relay {
 public:
  relay(const setup& on, const stage& where, const std::vector<std::string>& flags = {});

  pid_t pid() const { return process_.pid(); }
  process_usage usage() const { return usage_of(process_.pid()); }
  bool running() { return process_.running(); }
  std::string tail() { return process_.tail(); }
  // How many shards it leads, by its log.
  int leads() const;
  // Waits until its log says that it leads one.
  void await_lead();
  // It has PostgreSQL and the broker: it leads, or could.
  bool ready() const;
  void kill();
  // SIGTERM; waits for nothing.
  void ask_to_stop();
  // SIGTERM; throws unless it then ends in order.
  void stop();

 private:
  test::process process_;
};

}  // namespace outboxd::bench
