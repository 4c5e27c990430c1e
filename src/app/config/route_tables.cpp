#include "app/config/route_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/config/route_keys.hpp"

namespace outboxd::app {
namespace {

// Writes a header's value as JSON, which preserves its type.
std::optional<std::string> json_of(const toml::node& value) {
  using nlohmann::json;
  const auto dump = [](const json& one) { return one.dump(-1, ' ', false, json::error_handler_t::replace); };
  if (const auto* text = value.as_string()) return dump(text->get());
  if (const auto* number = value.as_integer()) return dump(number->get());
  if (const auto* flag = value.as_boolean()) return dump(flag->get());
  if (const auto* number = value.as_floating_point()) return dump(number->get());
  return std::nullopt;
}

result<void> read_headers(const std::string& path, std::size_t number, const toml::node& from,
                          raw_settings& out) {
  const auto* const table = from.as_table();
  if (table == nullptr)
    return permanent(fmt::format("headers in {} is no table; write headers = {{ name = \"value\" }}",
                                 origin_of(path, from.source())));
  for (const auto& [name, value] : *table) {
    const auto origin = origin_of(path, value.source());
    auto text = json_of(value);
    if (!text || *text == "null")
      return permanent(fmt::format("the header {} in {} is neither a string, a number, true nor false",
                                   name.str(), origin));
    out[route_key(number, fmt::format("{}.{}", route_headers, name.str()))] = {std::move(*text), origin};
  }
  return {};
}

result<void> read_route(const std::string& path, std::size_t number, const toml::table& from,
                        raw_settings& out) {
  for (const auto& [name, value] : from) {
    const auto origin = origin_of(path, value.source());
    if (name.str() == route_headers) {
      if (const auto read = read_headers(path, number, value, out); !read) return read;
      continue;
    }
    if (std::find(route_keys.begin(), route_keys.end(), name.str()) == route_keys.end())
      return permanent(fmt::format("unknown key '{}' in {}; a route has {} and {}", name.str(), origin,
                                   fmt::join(route_keys, ", "), route_headers));
    auto text = value.is_array() ? std::nullopt : text_of(value);
    if (!text)
      return permanent(
          fmt::format("{} in {} is neither a string, a whole number, true nor false", name.str(), origin));
    out[route_key(number, name.str())] = {std::move(*text), origin};
  }
  return {};
}

}  // namespace

std::optional<std::string> text_of(const toml::node& value) {
  if (const auto* text = value.as_string()) return text->get();
  if (const auto* number = value.as_integer()) return std::to_string(number->get());
  if (const auto* flag = value.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* list = value.as_array()) {
    std::string joined;
    for (const auto& item : *list) {
      const auto* text = item.as_string();
      if (text == nullptr) return std::nullopt;
      joined += (joined.empty() ? "" : ",") + text->get();
    }
    return joined;
  }
  return std::nullopt;
}

std::string origin_of(const std::string& path, const toml::source_region& where) {
  return fmt::format("{}:{}", path, where.begin.line);
}

result<void> read_route_tables(const std::string& path, const toml::node& from, raw_settings& out) {
  const auto* const list = from.as_array();
  if (list == nullptr || !list->is_array_of_tables())
    return permanent(
        fmt::format("route in {} is no list of tables; write [[route]]", origin_of(path, from.source())));
  std::size_t number = 0;
  for (const auto& one : *list) {
    const auto& table = *one.as_table();
    ++number;
    if (!table.contains("name"))
      return permanent(fmt::format("the route in {} has no name; logs and metrics call it by that",
                                   origin_of(path, one.source())));
    if (const auto read = read_route(path, number, table, out); !read) return read;
  }
  return {};
}

}  // namespace outboxd::app
