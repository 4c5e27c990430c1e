// url: the broker's address and the login, in the form of the RabbitMQ URI specification.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace outboxd::amqp {

// The parts, percent-decoded. Contains the password: print display(), never the members.
struct url {
  std::string user = "guest";
  std::string password = "guest";
  std::string host = "localhost";  // a name or an address; IPv6 without brackets
  std::uint16_t port = 5672;
  std::string vhost = "/";
  bool tls = false;  // amqps://

  // Returns amqp://user@host:port/vhost, percent-encoded, without the password.
  std::string display() const;
};

// Returns the same URL with *** as password. `text` must be accepted by parse_url.
std::string without_password(std::string_view text);

// Parses amqp://[user[:password]@]host[:port][/vhost] (https://www.rabbitmq.com/docs/uri-spec), or amqps://,
// with the default port 5671. Missing parts, and an empty vhost, have the defaults above. Errors are
// permanent, name the part and its allowed values, and quote nothing of the text, because a password with an
// unencoded '/' or '@' can end up in any part.
result<url> parse_url(std::string_view text);

}  // namespace outboxd::amqp
