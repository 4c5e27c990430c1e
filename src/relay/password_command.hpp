// password_command: a program of the user's that prints a password, run anew for every connection.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace outboxd::relay {

struct command_limits {
  std::chrono::milliseconds time{10'000};
  std::size_t output = 65'536;  // bytes
};

// For one thread. Errors name the setting and the program, never an argument or anything that it printed.
class password_command {
 public:
  // `words`: the program's absolute path and its arguments. No shell looks at them.
  password_command(std::string setting, std::vector<std::string> words, command_limits limits = {});
  ~password_command();
  password_command(const password_command&) = delete;
  password_command& operator=(const password_command&) = delete;

  // What it printed, without the newline at the end. It runs in a process group of its own, with no other
  // descriptor of ours, its standard error and input being /dev/null; after `limits.time` the group is
  // killed. Errors are transient: what the program asks may be away.
  boost::asio::awaitable<result<std::string>> run();

  // Kills those that run; each later run() is refused.
  void stop();

 private:
  class child;

  std::string called() const;  // for messages

  std::string setting_;
  std::vector<std::string> words_;
  command_limits limits_;
  std::vector<std::weak_ptr<child>> running_;
  bool stopped_ = false;
};

}  // namespace outboxd::relay
