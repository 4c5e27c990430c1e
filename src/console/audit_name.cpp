#include "console/audit_name.hpp"

#include <algorithm>

#include "console/digest.hpp"

namespace outboxd::console {
namespace {

// The length available after "outboxd console: ".
constexpr std::size_t longest_in_audit = 46;
constexpr std::size_t digits_in_audit = 8;

bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// Replaces each other character with one '?'.
std::string printable(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (!continues(c)) out += is_printable(c) ? c : '?';
  return out;
}

}  // namespace

std::string audit_name(std::string_view name) {
  auto out = printable(name);
  if (out == name && out.size() <= longest_in_audit) return out;
  out.resize(std::min(out.size(), longest_in_audit - digits_in_audit - 1));
  return out + "#" + hexadecimal(sha256(name)).substr(0, digits_in_audit);
}

}  // namespace outboxd::console
