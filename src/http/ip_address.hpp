// ip_address: whether a text is an IP address.
#pragma once

#include <string_view>

namespace outboxd::http {

// As parsed by inet_pton: no port, no brackets.
bool is_ipv4(std::string_view text);
bool is_ipv6(std::string_view text);

}  // namespace outboxd::http
