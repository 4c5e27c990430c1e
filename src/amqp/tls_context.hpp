// tls_context: the CAs and the client certificate for a TLS connection to the broker; the files are read
// again for each connection.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <optional>

#include "amqp/tls_settings.hpp"
#include "core/error.hpp"

namespace outboxd::amqp {

struct tls_context {
  boost::asio::ssl::context it;
  std::optional<std::chrono::system_clock::time_point> certificate_expires;  // expiry of the client
                                                                             // certificate
};

// Requires TLS 1.2 or newer. Errors are permanent and name the setting, the file and the remedy.
result<tls_context> make_tls_context(const tls_settings& from);

}  // namespace outboxd::amqp
