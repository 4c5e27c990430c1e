#include "core/event.hpp"

namespace outboxd {

std::string to_string(const event_id& id) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text(36, '-');
  char* at = text.data();
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) ++at;
    *at++ = digits[id.bytes[i] >> 4U];
    *at++ = digits[id.bytes[i] & 0x0FU];
  }
  return text;
}

}  // namespace outboxd
