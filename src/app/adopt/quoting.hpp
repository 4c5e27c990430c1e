// quoting: quotes names and texts for SQL, whatever they contain.
#pragma once

#include <string>
#include <string_view>

namespace outboxd::app {

std::string quoted_name(std::string_view name);  // "out""box"
std::string quoted_text(std::string_view text);  // 'it''s', or E'…' if it contains a backslash
std::string quoted_body(std::string_view body);  // $outboxd$…$outboxd$, with an unused tag

}  // namespace outboxd::app
