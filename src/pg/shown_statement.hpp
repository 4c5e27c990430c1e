// shown_statement: the part of another session's SQL that may be logged.
#pragma once

#include <string>
#include <string_view>

namespace outboxd::pg {

// On one line, up to the first literal, parameter or comment, and 200 bytes at most: the rest may hold a
// payload. "..." shows that there was more.
std::string shown_statement(std::string_view sql);

}  // namespace outboxd::pg
