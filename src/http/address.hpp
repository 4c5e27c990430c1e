// address: an address on which the server listens: a TCP address and port, or the path of a Unix-domain
// socket.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/error.hpp"

namespace outboxd::http {

struct tcp_address {
  std::string host;        // an IP address without brackets; empty: all addresses of this machine
  std::uint16_t port = 0;  // 0: any free port
  bool operator==(const tcp_address&) const = default;
};

struct unix_address {
  std::string path;  // absolute
  bool operator==(const unix_address&) const = default;
};

using address = std::variant<tcp_address, unix_address>;

// Parses 127.0.0.1:9464, [::1]:9464, localhost:9464 (which is 127.0.0.1), :9464 (all addresses) or
// unix:/path. The error contains only the allowed forms; the caller adds the setting and its origin.
result<address> parse_address(std::string_view text);

// Parses one or several addresses, separated by commas; "off" yields none.
result<std::vector<address>> parse_addresses(std::string_view text);

// Returns the form for logs and errors: http://127.0.0.1:9464 or unix:/path.
std::string url_of(const address& where);

}  // namespace outboxd::http
