// resolve: host names to addresses, without blocking, in the form that libpq takes.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "core/error.hpp"

namespace outboxd::pg {

// Parallel comma-separated lists, as libpq's parameters host, hostaddr and port. Empty host: nothing to
// resolve.
struct resolved_hosts {
  std::string host;
  std::string hostaddr;
  std::string port;
};

// libpq resolves names inside PQconnectPoll, which blocks; with hostaddr it does not. Cancelling the timer interrupts it: a
// look-up that hangs in the system's resolver is left behind.
boost::asio::awaitable<result<resolved_hosts>> resolve_hosts(
    std::string connection_string, std::chrono::steady_clock::time_point deadline,
    std::shared_ptr<boost::asio::steady_timer> timer);

}  // namespace outboxd::pg
