// text: pieces of addresses and headers.
#pragma once

#include <string_view>

namespace outboxd::http {

// Without blanks at both ends.
std::string_view trimmed(std::string_view text);

// As inet_pton reads them: no port, no brackets.
bool is_ipv4(std::string_view text);
bool is_ipv6(std::string_view text);

}  // namespace outboxd::http
