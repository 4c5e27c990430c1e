// sd_notify: datagrams that tell the service manager (systemd) how it goes; without libsystemd.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace outboxd::app {

// sd_notify(3). It never blocks, and never ends the process.
class sd_notify {
 public:
  // `address`: a path, or @ and the name of an abstract socket; empty: no service manager.
  explicit sd_notify(std::string address, std::optional<std::chrono::microseconds> watchdog = std::nullopt);
  ~sd_notify();
  sd_notify(const sd_notify&) = delete;
  sd_notify& operator=(const sd_notify&) = delete;

  // NOTIFY_SOCKET, and WATCHDOG_USEC if WATCHDOG_PID is this process. They are taken out of the environment:
  // a child is not to speak for the relay.
  static sd_notify from_environment();

  bool wanted() const { return !address_.empty(); }
  // The service counts as hung after this time without WATCHDOG=1; nullopt: there is no watchdog.
  std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

  // Lines such as "READY=1\nSTATUS=well". The error describes the fault of the socket for people.
  result<void> send(std::string_view lines) const;

 private:
  std::string address_;
  std::optional<std::chrono::microseconds> watchdog_;
  int socket_ = -1;
};

// For the value of STATUS=: what is not printable is a blank there, and a long text is cut.
std::string one_status_line(std::string_view words);

}  // namespace outboxd::app
