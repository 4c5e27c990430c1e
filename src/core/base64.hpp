// base64: bytes as text (RFC 4648, section 4).
#pragma once

#include <string>
#include <string_view>

namespace outboxd {

// With padding, in one line.
void append_base64(std::string& to, std::string_view bytes);

}  // namespace outboxd
