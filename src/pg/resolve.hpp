// resolve: resolves a host of the connection string to addresses, without blocking, in libpq's form.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "pg/connection_string.hpp"

namespace outboxd::pg {

// libpq's parameters host, hostaddr and port, for one attempt. All empty: whatever libpq finds in the string.
struct endpoint {
  std::string host;
  std::string hostaddr;
  std::string port;
};

// libpq resolves names inside PQconnectPoll, which blocks; with hostaddr it does not. Cancelling the timer
// interrupts it: a look-up that hangs in the system's resolver is abandoned. Never empty.
boost::asio::awaitable<result<std::vector<endpoint>>> resolve_host(
    host_entry host, std::chrono::steady_clock::time_point deadline,
    std::shared_ptr<boost::asio::steady_timer> timer);

}  // namespace outboxd::pg
