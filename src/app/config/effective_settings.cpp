#include "app/config/effective_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "amqp/url.hpp"
#include "app/config/route_keys.hpp"
#include "app/config/setting_keys.hpp"
#include "app/config/units.hpp"
#include "pg/connection_string.hpp"

namespace outboxd::app {
namespace {

// Writes a basic string of TOML.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    else
      out.push_back(c);
  }
  return out + "\"";
}

// Escapes the characters that a path may contain but a TOML comment may not.
std::string in_comment(std::string_view origin) {
  std::string out(origin);
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  return out;
}

std::string as_value(const std::string& text) {
  const auto number = parse_integer(text);
  const bool bare = text == "true" || text == "false" || (number && std::to_string(*number) == text);
  return bare ? text : in_quotes(text);
}

std::string without_passwords(const std::string& key, const std::string& text) {
  if (key == "database.url") return pg::without_passwords(text);
  if (key.starts_with("console.")) return text.empty() ? text : "***";
  if (key == "amqp.management_url") return text.empty() ? text : amqp::without_password(text);  // one URL
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto url = std::string_view(text).substr(begin, end - begin);
    out += (begin == 0 ? "" : ",") + (url.empty() ? std::string() : amqp::without_password(url));
    begin = end + 1;
  }
  return out;
}

bool is_shown(const raw_settings& given, const setting_key& one, extent which) {
  const auto key = one.key();
  if (given.contains(key) || given.contains(key + "_file")) return true;
  // A relay rejects retry.schedule together with these settings.
  if (given.contains("retry.schedule") &&
      (key == "retry.base" || key == "retry.cap" || key == "retry.max_attempts"))
    return false;
  return one.how() == rank::common || (which == extent::all && one.how() == rank::advanced);
}

std::string line_of(std::string_view name, const std::string& value, std::string_view origin) {
  return fmt::format("{} = {}  # {}\n", name, value, in_comment(origin));
}

std::string line_of(const raw_settings& given, const setting_key& one) {
  const auto key = one.key();
  if (const auto file = given.find(key + "_file"); one.secret && file != given.end())
    return line_of(fmt::format("{}_file", one.name), in_quotes(file->second.text), file->second.origin);
  const auto found = given.find(key);
  if (found == given.end()) return line_of(one.name, as_value(std::string(one.fallback)), "default");
  const auto& [text, origin] = found->second;
  return line_of(one.name, one.secret ? in_quotes(without_passwords(key, text)) : as_value(text), origin);
}

// Quotes the header's name, because it may contain any character.
std::string line_of_header(std::string_view name, const raw_value& value) {
  return line_of(fmt::format("{}.{}", route_headers, in_quotes(name)), value.text, value.origin);
}

// JSON's strings, numbers, true and false are valid TOML, too.
std::string route_tables(const raw_settings& from) {
  const std::string header_prefix = std::string(route_headers) + ".";
  std::map<std::size_t, std::string> tables;
  for (const auto& [key, value] : from) {
    const auto parts = parse_route_key(key);
    if (!parts) continue;
    std::string& table = tables.try_emplace(parts->number, "\n[[route]]\n").first->second;
    table += parts->name.starts_with(header_prefix)
                 ? line_of_header(parts->name.substr(header_prefix.size()), value)
                 : line_of(parts->name, as_value(value.text), value.origin);
  }
  std::string out;
  for (const auto& [number, table] : tables) out += table;
  return out;
}

}  // namespace

std::string to_toml(const settings& from, extent which) {
  std::string out;
  std::string_view section;
  for (const setting_key& one : setting_keys) {
    if (!is_shown(from.raw, one, which)) continue;
    if (one.section != section) {
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", one.section);
      section = one.section;
    }
    out += line_of(from.raw, one);
  }
  return out + route_tables(from.raw);
}

}  // namespace outboxd::app
