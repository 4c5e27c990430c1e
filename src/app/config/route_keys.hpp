// route_keys: the keys that a table [[route]] of the settings file may contain, and their names in the raw
// settings: route[2].exchange belongs to the second table.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace outboxd::app {

inline constexpr std::array<std::string_view, 15> route_keys{
    "name",        "event_type", "aggregate_type", "header",           "exchange",
    "routing_key", "format",     "content_type",   "content_encoding", "priority",
    "expiration",  "persistent", "correlation_id", "mandatory",        "deduplication_header",
};

// The key of a nested table. Each header in it has its own raw key, route[2].headers.tenant, with a JSON
// value.
inline constexpr std::string_view route_headers = "headers";

// `number` starts at 1.
std::string route_key(std::size_t number, std::string_view name);

bool is_route_key(std::string_view key);

// The two parts of a route key.
struct route_key_parts {
  std::size_t number;
  std::string_view name;
};
std::optional<route_key_parts> parse_route_key(std::string_view key);

}  // namespace outboxd::app
