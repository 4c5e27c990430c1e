#include "app/adopt/quoting.hpp"

namespace outboxd::app {
namespace {

std::string doubled(std::string_view text, std::string_view which) {
  std::string out;
  for (const char c : text) {
    if (which.find(c) != std::string_view::npos) out.push_back(c);
    out.push_back(c);
  }
  return out;
}

}  // namespace

std::string quoted_name(std::string_view name) {
  return '"' + doubled(name, "\"") + '"';
}

// Has the same meaning with and without standard_conforming_strings (see the PostgreSQL manual).
std::string quoted_text(std::string_view text) {
  const bool has_backslash = text.find('\\') != std::string_view::npos;
  return (has_backslash ? "E'" : "'") + doubled(text, "'\\") + '\'';
}

std::string quoted_body(std::string_view body) {
  std::string tag = "$outboxd$";
  while (body.find(tag.substr(0, tag.size() - 1)) != std::string_view::npos) tag.insert(tag.size() - 1, "_");
  std::string out = tag;
  out.append(body);
  return out + tag;
}

}  // namespace outboxd::app
