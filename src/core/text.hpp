// text: makes text from elsewhere (a broker, a row, a file) safe to print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace outboxd {

// Removes spaces and tabs at both ends.
std::string_view trimmed(std::string_view text);

// For an error message: replaces control characters with '?' and truncates to `max_bytes` at a UTF-8
// boundary, adding "..." if truncated.
std::string printable(std::string_view text, std::size_t max_bytes = 255);

// For a terminal: escapes control characters, as in \n and \x1b.
std::string escaped(std::string_view text);

// Quotes the text unless a shell would take it as one plain word anyway.
std::string shell_word(std::string_view text);

}  // namespace outboxd
