// json_text: texts as JSON writes them.
#pragma once

#include <string>
#include <string_view>

namespace outboxd {

// Appends the text as a JSON string, quotes included; what is no UTF-8 becomes U+FFFD.
void append_json_string(std::string& to, std::string_view text);

}  // namespace outboxd
