// resolve: resolves a host of the connection string to addresses without blocking, in the form that libpq
// needs.
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

// The parameters host, hostaddr and port of libpq, for one attempt. If all are empty, libpq uses those in the
// string.
struct endpoint {
  std::string host;
  std::string hostaddr;
  std::string port;
};

// libpq would resolve names in PQconnectPoll, which blocks then; if hostaddr is set, it does not. Cancelling
// the timer interrupts this function: a look-up that hangs in the system's resolver is abandoned. The result
// is never empty.
boost::asio::awaitable<result<std::vector<endpoint>>> resolve_host(
    host_entry host, std::chrono::steady_clock::time_point deadline,
    std::shared_ptr<boost::asio::steady_timer> timer);

}  // namespace outboxd::pg
