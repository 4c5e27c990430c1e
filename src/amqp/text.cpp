// text: see the header.
#include "amqp/text.hpp"

#include <algorithm>

#include "core/utf8.hpp"

namespace outboxd::amqp {

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::size_t end = std::min(text.size(), max_bytes);
  if (end < text.size()) {
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
      --end;  // not inside a character
  }
  std::string out(text.substr(0, end));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  if (end < text.size()) out += "...";
  return valid_utf8(out);
}

}  // namespace outboxd::amqp
