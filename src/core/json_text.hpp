// json_text: writes text as JSON.
#pragma once

#include <string>
#include <string_view>

namespace outboxd {

// Appends the text as a JSON string with its quotes; invalid UTF-8 becomes U+FFFD.
void append_json_string(std::string& to, std::string_view text);

}  // namespace outboxd
