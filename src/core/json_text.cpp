#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace outboxd {

void append_json_string(std::string& to, std::string_view text) {
  to += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace outboxd
