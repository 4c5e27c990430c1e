// tls_context: what a TLS connection to the broker trusts and shows, from files that are read anew for each.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "core/error.hpp"

namespace outboxd::amqp {

enum class verification : std::uint8_t {
  full,  // the broker's certificate and that it is for the host of the URL
  ca,    // that somebody whom we trust has signed it, for whatever host
  none,
};

struct tls_settings {
  std::string ca_file;           // PEM; empty: those that the system trusts
  std::string certificate_file;  // PEM, ours, with intermediate ones behind it; empty: none
  std::string key_file;          // PEM, of that certificate
  verification verify = verification::full;
};

struct tls_context {
  boost::asio::ssl::context it;
  std::optional<std::chrono::system_clock::time_point> certificate_expires;  // ours
};

// TLS 1.2 or newer. Errors are permanent and name the setting, the file and the remedy.
result<tls_context> make_tls_context(const tls_settings& from);

}  // namespace outboxd::amqp
