#include "core/json_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace outboxd {

void append_json_string(std::string& to, std::string_view text) {
  const auto plain = [](unsigned char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; };
  if (std::all_of(text.begin(), text.end(), plain)) {
    to += '"';
    to += text;
    to += '"';
    return;
  }
  to += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace outboxd
