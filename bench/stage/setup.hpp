// setup: the parameters of every part: the location of the programs, the servers, and the output directory.
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
  bool own_servers = true;               // started by tools/bench: may be restarted, and have no other users
  std::vector<std::string> relay_flags;  // for every outboxd run, in addition to the part's flags

  std::string program(const std::string& name) const { return (programs / name).string(); }
};

// Throws std::runtime_error if the servers at the two URLs are not those that tools/bench started for this
// program, according to the environment from `tools/services env`.
void require_own_servers(const setup& on);

}  // namespace outboxd::bench
