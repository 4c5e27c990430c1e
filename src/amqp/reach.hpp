// reach: opens a TCP connection to one of a host's addresses.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <vector>

#include "core/error.hpp"

namespace outboxd::amqp {

// Tries the addresses in turn. Each attempt is limited to `share`, so that an address that does not answer,
// for example behind a firewall, leaves time for the next; the last attempt has no limit. Closing the socket
// ends the attempt. The error is transient, and contains the last address and why it failed.
boost::asio::awaitable<result<void>> reach(boost::asio::ip::tcp::socket& socket,
                                           std::vector<boost::asio::ip::tcp::endpoint> addresses,
                                           std::chrono::milliseconds share);

}  // namespace outboxd::amqp
