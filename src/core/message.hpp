// message: what one event becomes on the wire (contract, "The message").
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

// Views point into what was read and into its route, and live as long as the event does.
struct message {
  std::string_view exchange;      // empty: the default exchange
  std::string_view routing_key;   // at most 255 bytes on the wire
  std::string message_id;         // the event's id in its usual text form
  std::string_view type;          // event_type
  std::string_view content_type;  // for example application/json
  // created_at in seconds since 1970-01-01 UTC, if it is of 1970 to 9999: clients fail over other times.
  std::optional<std::uint64_t> timestamp;
  std::string_view aggregate_type;
  std::string_view aggregate_id;
  std::int64_t seq = 0;
  std::string occurred_at;   // created_at, ISO 8601 in UTC with microseconds
  std::string_view headers;  // the row's own headers: the text of a JSON object
  std::string_view body;     // the payload as stored, or made_body
  // Only a route sets these.
  std::string_view correlation_id{};    // empty: none
  std::string_view content_encoding{};  // empty: none
  std::string expiration{};             // milliseconds as text; empty: never
  std::optional<std::uint8_t> priority{};
  bool persistent = true;                          // delivery_mode 2, else 1
  bool mandatory = true;                           // it is returned if no queue takes it
  std::vector<message_header> format_headers{};    // they replace the row's of the same name
  std::vector<message_header> default_headers{};   // the row's of the same name replace them
  std::shared_ptr<const std::string> made_body{};  // of a format that is not raw
  // A dead letter says why it is dead, and its original destination; headers dead_reason, dead_exchange,
  // dead_routing_key.
  std::string_view dead_reason{};  // empty: not a dead letter
  std::string_view dead_exchange{};
  std::string_view dead_routing_key{};  // empty: cannot be said
};

}  // namespace outboxd
