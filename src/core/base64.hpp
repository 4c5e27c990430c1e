// base64: encodes bytes as text (RFC 4648, section 4).
#pragma once

#include <string>
#include <string_view>

namespace outboxd {

// Appends the encoded bytes with padding, without line breaks.
void append_base64(std::string& to, std::string_view bytes);

}  // namespace outboxd
