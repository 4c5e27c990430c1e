#include "core/event.hpp"

namespace outboxd {

std::string to_string(const event_id& id) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text.push_back('-');
    text.push_back(digits[id.bytes[i] >> 4U]);
    text.push_back(digits[id.bytes[i] & 0x0FU]);
  }
  return text;
}

}  // namespace outboxd
