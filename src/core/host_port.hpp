// host_port: the part of a URL that tells where: host, host:port, [address] or [address]:port (RFC 3986,
// section 3.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace outboxd {

struct host_port {
  std::string host;                   // a name or an address, without brackets; empty if there is none
  std::optional<std::uint16_t> port;  // 1 to 65535
};

// Decodes what is percent-encoded in the host. Errors call the URL by `kind`, such as "AMQP URL", quote
// nothing of it, and end with `hint`, which says what is to be encoded.
result<host_port> parse_host_port(std::string_view text, std::string_view kind, std::string_view hint);

// As a URL has it: brackets around an IPv6 address, and percent-encoded.
std::string host_in_url(std::string_view host);

}  // namespace outboxd
