// ip_address: whether a text is one.
#pragma once

#include <string_view>

namespace outboxd::http {

// As inet_pton reads them: no port, no brackets.
bool is_ipv4(std::string_view text);
bool is_ipv6(std::string_view text);

}  // namespace outboxd::http
