// route_keys: what a table [[route]] of the settings file may have, and what its keys are called among the
// raw settings: route[2].exchange is of the second one.
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

// A table of its own: each header is a key, route[2].headers.tenant, and its value is JSON.
inline constexpr std::string_view route_headers = "headers";

// Counted from 1.
std::string route_key(std::size_t number, std::string_view name);

bool is_route_key(std::string_view key);

// Both parts of such a key.
struct route_key_parts {
  std::size_t number;
  std::string_view name;
};
std::optional<route_key_parts> parse_route_key(std::string_view key);

}  // namespace outboxd::app
