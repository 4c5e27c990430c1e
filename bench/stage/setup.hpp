// setup: what every part is given: where the programs are, which servers it may use, where figures go.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace outboxd::bench {

struct setup {
  std::filesystem::path programs;  // the directory of outboxd, publisher, the baselines and slow_flush.so
  std::filesystem::path output;
  std::string database_url;
  std::string amqp_url;
  bool own_servers = true;  // tools/bench started them: they may be restarted, and have no other users
  std::vector<std::string> relay_flags;  // for every outboxd run, beside what the part sets

  std::string program(const std::string& name) const { return (programs / name).string(); }
};

// Throws std::runtime_error when the servers at the two URLs are not those that tools/bench started for this
// program, as the environment of tools/services env tells.
void require_own_servers(const setup& on);

}  // namespace outboxd::bench
