#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/utf8.hpp"

namespace outboxd {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::size_t end = std::min(text.size(), max_bytes);
  if (end < text.size()) {
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
      --end;  // not in the middle of a character
  }
  std::string out(text.substr(0, end));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  if (end < text.size()) out += "...";
  return valid_utf8(out);
}

std::string escaped(std::string_view text) {
  constexpr unsigned char first_printable = 0x20;
  constexpr unsigned char rub_out = 0x7F;
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (c == 0xC2U && next >= 0x80U && next < 0xA0U) {  // a C1 control character, encoded as UTF-8
      out += fmt::format("\\u{:04x}", next);
      ++i;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < first_printable || c == rub_out) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:+,@%=";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace outboxd
