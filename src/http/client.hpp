// client: asks one question of an HTTP server, of a relay or of somebody else's, and waits for the answer.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/verify_context.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "http/address.hpp"
#include "http/url.hpp"

namespace outboxd::http {

struct answer {
  int status = 0;
  std::string body;
};

// What there is to say about TLS for a URL with https.
struct tls_client {
  boost::asio::ssl::context context;
  // Before the handshake: the name that the certificate is to be for.
  std::function<void(SSL*)> name_peer;
  std::function<bool(bool, boost::asio::ssl::verify_context&)> verify;
  // The text of a TLS error; nullopt for any other.
  std::function<std::optional<std::string>(const boost::system::error_code&)> words;
};

// Both block, for as long as `limit` at most, and take an answer of 1 MiB at most. The look-up of a name
// cannot be interrupted: it may add the resolver's own time.

// An address that stands for every one is asked at the loopback.
result<answer> get(const address& from, std::string_view target, std::chrono::milliseconds limit);

// target: below the URL's path. authorization: the header's value; empty: none. tls: for a URL with https.
result<answer> get(const url& from, std::string_view target, const std::string& authorization,
                   std::chrono::milliseconds limit, tls_client* tls = nullptr);

}  // namespace outboxd::http
