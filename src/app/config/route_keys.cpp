#include "app/config/route_keys.hpp"

#include <fmt/format.h>

#include <charconv>

namespace outboxd::app {
namespace {

constexpr std::string_view opening = "route[";
constexpr std::string_view closing = "].";

}  // namespace

std::string route_key(std::size_t number, std::string_view name) {
  return fmt::format("{}{}{}{}", opening, number, closing, name);
}

bool is_route_key(std::string_view key) {
  return parse_route_key(key).has_value();
}

std::optional<route_key_parts> parse_route_key(std::string_view key) {
  const auto end = key.find(closing);
  if (!key.starts_with(opening) || end == std::string_view::npos) return std::nullopt;
  std::size_t number = 0;
  const char* const last = key.data() + end;
  const auto [read_to, failed] = std::from_chars(key.data() + opening.size(), last, number);
  if (failed != std::errc() || read_to != last) return std::nullopt;
  return route_key_parts{number, key.substr(end + closing.size())};
}

}  // namespace outboxd::app
