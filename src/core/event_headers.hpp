// event_headers: one value out of an event's headers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace outboxd {

struct header_value {
  std::string text;      // of a number or a truth value: as JSON writes it
  bool is_text = false;  // it is a JSON string
};

// `headers`: the text of a JSON object. Nothing if there is no such header, or if it is null, a list or an
// object. Whatever else is there may be wrong.
std::optional<header_value> find_header(std::string_view headers, std::string_view name);

}  // namespace outboxd
