// reach: a TCP connection to one of a host's addresses.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <vector>

#include "core/error.hpp"

namespace outboxd::amqp {

// Tries the addresses in turn. One that answers nothing, as behind a firewall, leaves time for those behind
// it: each has `share`, but the last one, which has as long as it takes. Closing the socket ends it. An error
// is transient, and has the last address with its reason.
boost::asio::awaitable<result<void>> reach(boost::asio::ip::tcp::socket& socket,
                                           std::vector<boost::asio::ip::tcp::endpoint> addresses,
                                           std::chrono::milliseconds share);

}  // namespace outboxd::amqp
