// url: the broker's address and our login, as in the RabbitMQ URI specification.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace outboxd::amqp {

// Percent-decoded parts. Holds the password: print display(), never the members.
struct url {
  std::string user = "guest";
  std::string password = "guest";
  std::string host = "localhost";  // a name or an address; IPv6 without brackets
  std::uint16_t port = 5672;
  std::string vhost = "/";
  bool tls = false;  // amqps://

  // amqp://user@host:port/vhost, percent-encoded; no password.
  std::string display() const;
};

// The same URL with *** for the password. `text` is one that parse_url takes.
std::string without_password(std::string_view text);

// amqp://[user[:password]@]host[:port][/vhost], https://www.rabbitmq.com/docs/uri-spec, or amqps://, whose
// port is 5671 if none is given. Absent parts take the defaults above, and so does an empty vhost. Errors are
// permanent, name the part and what is allowed in it, and quote nothing of the text: a password whose
// '/' or '@' was not encoded can end up in any part.
result<url> parse_url(std::string_view text);

}  // namespace outboxd::amqp
