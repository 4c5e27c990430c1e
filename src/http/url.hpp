// url: the address of another HTTP server, and the credentials for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace outboxd::http {

struct credentials {
  std::string user;
  std::string password;
};

// The parts, percent-decoded. Contains the password: print display(), never the members.
struct url {
  std::optional<credentials> login;
  bool tls = false;  // https
  std::string host;  // a name or an address; IPv6 without brackets
  std::uint16_t port = 0;
  std::string path;  // as written, without a trailing slash

  // host:port, as in the header Host.
  std::string authority() const;
  // http://host:port/path, or https://; without user and password.
  std::string display() const;
};

// Parses http://[user[:password]@]host[:port][/path], or https://; the port is optional. Errors quote no part
// of the text, because an unencoded password can end up in any part.
result<url> parse_url(std::string_view text, std::uint16_t default_port, std::uint16_t default_tls_port);

// The value of the Authorization header for Basic authentication (RFC 7617).
std::string basic_authorization(const credentials& of);

}  // namespace outboxd::http
