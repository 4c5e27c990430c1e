// shown_statement: the part of another session's SQL that is safe to log.
#pragma once

#include <string>
#include <string_view>

namespace outboxd::pg {

// Returns one line, up to the first literal, parameter or comment, and at most 200 bytes, because the rest
// may contain a payload. If the text was cut, "..." is appended.
std::string shown_statement(std::string_view sql);

}  // namespace outboxd::pg
