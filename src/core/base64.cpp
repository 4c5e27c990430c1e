#include "core/base64.hpp"

namespace outboxd {

void append_base64(std::string& to, std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) -> unsigned {
      return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
    };
    const unsigned group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    to += digits[group >> 18];
    to += digits[group >> 12 & 63];
    to += i + 1 < bytes.size() ? digits[group >> 6 & 63] : '=';
    to += i + 2 < bytes.size() ? digits[group & 63] : '=';
  }
}

}  // namespace outboxd
