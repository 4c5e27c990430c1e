// utf8: text that PostgreSQL and a terminal take, whatever a peer has sent.
#pragma once

#include <string>
#include <string_view>

namespace outboxd {

// Each byte that is no part of a valid character (RFC 3629) becomes '?', which every encoding of a database
// has; and so does NUL, which PostgreSQL stores in no text.
std::string valid_utf8(std::string_view text);

// The beginning of a valid text: at most so many bytes, and no part of a character.
std::string_view whole_characters(std::string_view text, std::size_t bytes);

}  // namespace outboxd
