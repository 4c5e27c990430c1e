// message: an event in the form in which it is published.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace outboxd {

struct message_header {
  std::string name;
  std::variant<bool, std::int64_t, double, std::string> value;
};

// Views point into the event's buffer and its route, and are valid as long as the event is.
struct message {
  std::string_view exchange;      // empty: the default exchange
  std::string_view routing_key;   // at most 255 bytes on the wire
  std::string message_id;         // the event's id in its usual text form
  std::string_view type;          // event_type
  std::string_view content_type;  // for example application/json
  // created_at in seconds since 1970-01-01 UTC; only for the years 1970 to 9999, since clients fail on
  // others.
  std::optional<std::uint64_t> timestamp;
  std::string_view aggregate_type;
  std::string_view aggregate_id;
  std::int64_t seq = 0;
  std::string occurred_at;   // created_at, ISO 8601 in UTC with microseconds
  std::string_view headers;  // the row's own headers: the text of a JSON object
  std::string_view body;     // the payload as stored, or made_body
  // Only routes set these fields.
  std::string_view correlation_id{};    // empty: none
  std::string_view content_encoding{};  // empty: none
  std::string expiration{};             // milliseconds as text; empty: never expires
  std::optional<std::uint8_t> priority{};
  bool persistent = true;                          // delivery_mode 2; otherwise 1
  bool mandatory = true;                           // the broker returns an unroutable message
  std::vector<message_header> format_headers{};    // from the format or a span; override the row's headers
  std::vector<message_header> default_headers{};   // overridden by the row's headers of the same name
  std::shared_ptr<const std::string> made_body{};  // the body, for formats other than raw
  // A dead letter says why the event is dead, and names its original destination, in the headers dead_reason,
  // dead_exchange and dead_routing_key.
  std::string_view dead_reason{};  // empty: not a dead letter
  std::string_view dead_exchange{};
  std::string_view dead_routing_key{};  // empty: the key could not be encoded, and is left out
};

}  // namespace outboxd
