// text: words from elsewhere (a broker, a row, a file) made fit to be shown, and pieces of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace outboxd {

// Without blanks at both ends.
std::string_view trimmed(std::string_view text);

// For an error message: control characters replaced by '?', cut at a UTF-8 boundary to `max_bytes`, with
// "..." when cut.
std::string printable(std::string_view text, std::size_t max_bytes = 255);

// For a terminal: what it would obey is escaped: \n, \x1b.
std::string escaped(std::string_view text);

// Quoted if a shell would take it for anything but one word.
std::string shell_word(std::string_view text);

}  // namespace outboxd
