// address: where the server listens: an address and port of TCP, or the path of a Unix socket.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/error.hpp"

namespace outboxd::http {

struct tcp_address {
  std::string host;        // an IP address without brackets; empty: every address of this machine
  std::uint16_t port = 0;  // 0: any that is free
  bool operator==(const tcp_address&) const = default;
};

struct unix_address {
  std::string path;  // absolute
  bool operator==(const unix_address&) const = default;
};

using address = std::variant<tcp_address, unix_address>;

// 127.0.0.1:9464, [::1]:9464, localhost:9464 (which is 127.0.0.1), :9464 (every address), unix:/path. The
// error says only what is allowed: whoever asks knows the setting and its origin.
result<address> parse_address(std::string_view text);

// One or several with commas between them, or "off": none.
result<std::vector<address>> parse_addresses(std::string_view text);

// http://127.0.0.1:9464 or unix:/path, for logs and errors.
std::string url_of(const address& where);

}  // namespace outboxd::http
