// client: sends one request to an HTTP server and waits for the answer.
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
  std::string retry_after{};  // the header's value
};

// The TLS context, used for https URLs.
struct tls_client {
  boost::asio::ssl::context context;
  // Called before the handshake to set the name that the certificate must have.
  std::function<void(SSL*)> name_peer;
  std::function<bool(bool, boost::asio::ssl::verify_context&)> verify;
  // Returns the text for a TLS error; nullopt for any other error.
  std::function<std::optional<std::string>(const boost::system::error_code&)> words;
};

// Both functions block for at most `limit`, and accept an answer of at most 1 MiB. A name lookup cannot be
// interrupted, so the resolver's own timeout may be added.

// If `from` stands for all addresses, the request is sent to the loopback address.
result<answer> get(const address& from, std::string_view target, std::chrono::milliseconds limit);

// target: appended to the URL's path. authorization: the value of the header; empty: no header. tls: for
// https URLs.
result<answer> get(const url& from, std::string_view target, const std::string& authorization,
                   std::chrono::milliseconds limit, tls_client* tls = nullptr);

}  // namespace outboxd::http
