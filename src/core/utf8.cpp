#include "core/utf8.hpp"

#include <cstdint>

namespace outboxd {
namespace {

constexpr std::string_view replacement = "?";

struct form {
  std::size_t length;                    // length of the character in bytes
  std::uint8_t second_low, second_high;  // allowed range of the second byte
};

// RFC 3629, section 4: no overlong forms, no surrogates, nothing above U+10FFFF.
form form_of(std::uint8_t first) {
  if (first != 0 && first < 0x80) return {1, 0, 0};
  if (first >= 0xC2 && first <= 0xDF) return {2, 0x80, 0xBF};
  if (first == 0xE0) return {3, 0xA0, 0xBF};
  if (first == 0xED) return {3, 0x80, 0x9F};
  if (first >= 0xE1 && first <= 0xEF) return {3, 0x80, 0xBF};
  if (first == 0xF0) return {4, 0x90, 0xBF};
  if (first >= 0xF1 && first <= 0xF3) return {4, 0x80, 0xBF};
  if (first == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// Length of the valid character at the start of the text; 0 if there is none.
std::size_t length_of_first(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  const form is = form_of(byte(0));
  if (is.length > text.size()) return 0;
  if (is.length > 1 && (byte(1) < is.second_low || byte(1) > is.second_high)) return 0;
  for (std::size_t at = 2; at < is.length; ++at)
    if (byte(at) < 0x80 || byte(at) > 0xBF) return 0;
  return is.length;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = length_of_first(text);
    out += length == 0 ? replacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string_view whole_characters(std::string_view text, std::size_t bytes) {
  const auto continues = [&](std::size_t at) { return (static_cast<std::uint8_t>(text[at]) & 0xC0) == 0x80; };
  if (bytes >= text.size()) return text;
  while (bytes > 0 && continues(bytes)) --bytes;
  return text.substr(0, bytes);
}

}  // namespace outboxd
