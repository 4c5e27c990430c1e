// relay: `outboxd run` as a separate process.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/process_usage.hpp"
#include "stage/setup.hpp"
#include "stage/stage.hpp"
#include "support/process.hpp"

namespace outboxd::bench {

// The default of relay.lanes, with which the promised figures are measured.
inline constexpr int default_lanes = 2;

// The arguments of every `outboxd run`.
std::vector<std::string> relay_arguments(const setup& on, const std::vector<std::string>& flags);
std::map<std::string, std::string> relay_environment(const setup& on, const stage& where);

class relay {
 public:
  relay(const setup& on, const stage& where, const std::vector<std::string>& flags = {});

  pid_t pid() const { return process_.pid(); }
  process_usage usage() const { return usage_of(process_.pid()); }
  bool running() { return process_.running(); }
  std::string tail() { return process_.tail(); }
  // The number of shards that it leads, according to its log.
  int leads() const;
  // Waits until its log says that it leads a shard.
  void await_lead();
  // True if it is connected to PostgreSQL and the broker, so that it leads or could lead.
  bool ready() const;
  void kill();
  // Sends SIGTERM without waiting.
  void ask_to_stop();
  // Sends SIGTERM, and throws unless the relay exits with success.
  void stop();

 private:
  test::process process_;
};

}  // namespace outboxd::bench
