// shown_statement: as much of somebody's SQL as may be logged.
#pragma once

#include <string>
#include <string_view>

namespace outboxd::pg {

// On one line, up to the first literal, parameter or comment, and 200 bytes at most: what follows may hold a
// payload. "..." tells that there was more.
std::string shown_statement(std::string_view sql);

}  // namespace outboxd::pg
