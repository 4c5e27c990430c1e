// read_secret: reads a secret for a new connection, on a reactor.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "core/error.hpp"
#include "relay/secret.hpp"

namespace outboxd::relay {

// The password command, if there is one, runs on the caller's executor.
boost::asio::awaitable<result<std::string>> read_secret(secret from);

}  // namespace outboxd::relay
