// utf8: makes any text from a peer acceptable to PostgreSQL and a terminal.
#pragma once

#include <string>
#include <string_view>

namespace outboxd {

// Replaces each byte that is not part of a valid UTF-8 character (RFC 3629) with '?', which every database
// encoding has; also NUL, which PostgreSQL cannot store in a text.
std::string valid_utf8(std::string_view text);

// The longest prefix of a valid text that has at most `bytes` bytes and ends at a character boundary.
std::string_view whole_characters(std::string_view text, std::size_t bytes);

}  // namespace outboxd
