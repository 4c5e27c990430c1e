// quoting: names and texts as SQL needs them, whatever is in them.
#pragma once

#include <string>
#include <string_view>

namespace outboxd::app {

std::string quoted_name(std::string_view name);  // "out""box"
std::string quoted_text(std::string_view text);  // 'it''s', or E'…' with a backslash in it
std::string quoted_body(std::string_view body);  // $outboxd$…$outboxd$, with a tag that is not in it

}  // namespace outboxd::app
