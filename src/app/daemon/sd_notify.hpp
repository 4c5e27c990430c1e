// sd_notify: sends the process's state to the service manager (systemd) in datagrams, without libsystemd.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace outboxd::app {

// Implements sd_notify(3). Sending never blocks and never raises SIGPIPE.
class sd_notify {
 public:
  // `address`: a path, or @ and the name of an abstract socket; empty: no service manager.
  explicit sd_notify(std::string address, std::optional<std::chrono::microseconds> watchdog = std::nullopt);
  ~sd_notify();
  sd_notify(const sd_notify&) = delete;
  sd_notify& operator=(const sd_notify&) = delete;

  // Reads NOTIFY_SOCKET, and WATCHDOG_USEC if WATCHDOG_PID is this process, and removes them from the
  // environment, so that no child process reports in the relay's name.
  static sd_notify from_environment();

  bool wanted() const { return !address_.empty(); }
  // The service manager considers the process hung after this time without WATCHDOG=1; nullopt: no watchdog.
  std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

  // `lines`: for example "READY=1" and "STATUS=well", separated by a line break. The error describes the
  // fault of the socket.
  result<void> send(std::string_view lines) const;

 private:
  std::string address_;
  std::optional<std::chrono::microseconds> watchdog_;
  int socket_ = -1;
};

// Returns a value for STATUS=: replaces unprintable characters with blanks and shortens long texts.
std::string one_status_line(std::string_view words);

}  // namespace outboxd::app
