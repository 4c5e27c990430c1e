// event_headers: looks up one value in an event's headers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace outboxd {

struct header_value {
  std::string text;      // for a number or a boolean: its JSON text
  bool is_text = false;  // the value is a JSON string
};

// `headers`: the text of a JSON object. Returns nullopt if there is no such header, or if its value is null,
// an array or an object. The rest of the text need not be valid JSON.
std::optional<header_value> find_header(std::string_view headers, std::string_view name);

}  // namespace outboxd
