// url: where somebody else's HTTP server is, and who we are to it.
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

// Percent-decoded parts. Holds the password: print display(), never the members.
struct url {
  std::optional<credentials> login;
  bool tls = false;  // https
  std::string host;  // a name or an address; IPv6 without brackets
  std::uint16_t port = 0;
  std::string path;  // as it was written, without a slash at its end

  // http://host:port/path, or https://; no user, no password.
  std::string display() const;
};

// http://[user[:password]@]host[:port][/path], or https://; what is missing as the port is given. Errors
// quote nothing of the text: a password that was not encoded can end up in any part.
result<url> parse_url(std::string_view text, std::uint16_t default_port, std::uint16_t default_tls_port);

// The value of an Authorization header: Basic (RFC 7617).
std::string basic_authorization(const credentials& of);

}  // namespace outboxd::http
