// password_command: a user's program that prints a password; it is executed for every new connection.
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

// Not thread-safe. Errors name the setting and the program, but never an argument or any output.
class password_command {
 public:
  // `words`: the program's absolute path and its arguments, which are passed without a shell.
  password_command(std::string setting, std::vector<std::string> words, command_limits limits = {});
  ~password_command();
  password_command(const password_command&) = delete;
  password_command& operator=(const password_command&) = delete;

  // Returns the program's output, without the final newline. The program runs in its own process group, with
  // /dev/null as standard input and error, and inherits no other descriptors; after `limits.time`, the
  // process group is killed. Errors are transient, because the service that the program asks may be
  // unavailable.
  boost::asio::awaitable<result<std::string>> run();

  // Kills running programs; later calls of run() fail.
  void stop();

 private:
  class child;

  std::string called() const;  // the command's name in messages

  std::string setting_;
  std::vector<std::string> words_;
  command_limits limits_;
  std::vector<std::weak_ptr<child>> running_;
  bool stopped_ = false;
};

}  // namespace outboxd::relay
