// ip_address: tests whether a text is an IP address.
#pragma once

#include <string_view>

namespace outboxd::http {

// Accepts what inet_pton accepts: no port, no brackets.
bool is_ipv4(std::string_view text);
bool is_ipv6(std::string_view text);

}  // namespace outboxd::http
