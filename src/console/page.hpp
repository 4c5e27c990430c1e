// page: the static part of what the console answers, and the headers that keep a browser in bounds.
#pragma once

#include <optional>
#include <string_view>

#include "http/message.hpp"

namespace outboxd::console {

// The file at this path; nothing, if there is none. "/" is the page itself.
std::optional<http::response> file_at(std::string_view path);

// Those of every answer.
void add_guards(http::response& to);

}  // namespace outboxd::console
