// host_port: the host and port of a URL: host, host:port, [address] or [address]:port (RFC 3986, section
// 3.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace outboxd {

struct host_port {
  std::string host;                   // a name or an address without brackets; empty if the URL has none
  std::optional<std::uint16_t> port;  // 1 to 65535
};

// Decodes percent-encoding in the host. Error messages call the URL by `kind`, such as "AMQP URL", quote no
// part of the URL, and end with `hint`, which says which characters need encoding.
result<host_port> parse_host_port(std::string_view text, std::string_view kind, std::string_view hint);

// The host as written in a URL: percent-encoded, an IPv6 address in brackets.
std::string host_in_url(std::string_view host);

}  // namespace outboxd
