// event: one row of the outbox as a lane has claimed it.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outboxd {

struct event_id {
  std::array<std::uint8_t, 16> bytes{};
  friend auto operator<=>(const event_id&, const event_id&) = default;
};

// The usual text form: 8-4-4-4-12 lower-case hexadecimal digits (RFC 9562, section 4).
std::string to_string(const event_id& id);

using timestamp = std::chrono::sys_time<std::chrono::microseconds>;

// Where a row lies: its ctid, as PostgreSQL sends it. A hint: a change of the row moves it.
struct row_place {
  std::array<char, 6> bytes{};
  bool operator==(const row_place&) const = default;
};

// Views point into the batch that holds the event.
struct event {
  event_id id;
  row_place place;
  std::int16_t shard = 0;
  std::int64_t seq = 0;
  std::int64_t aggregate = 0;  // the hash of its type and id
  std::string_view aggregate_type;
  std::string_view aggregate_id;
  std::string_view event_type;
  std::string_view payload;
  std::string_view headers;  // the text of a JSON object
  std::optional<std::string_view> exchange;
  std::optional<std::string_view> routing_key;
  std::int32_t attempts = 0;  // failed so far
  std::int32_t nacks = 0;     // in how many attempts the broker had no room for it
  timestamp created_at;
  std::optional<std::int64_t>
      behind;  // not to be published: seq of an earlier waiting event of its aggregate
  bool has_followers =
      false;  // who finishes it has to release those that wait behind it: its shard has such events
};

// Bytes of all its texts.
std::size_t size_of(const event& one);

enum class payload_type { jsonb, json, text, bytea };

// What one claim returned, in seq order.
struct batch {
  std::vector<event> events;
  payload_type payload = payload_type::jsonb;
  bool more = false;      // other shards have due events too
  bool full = false;      // its limits may have kept events of its shards out of it
  bool complete = false;  // it is known to have all that is pending in shards that nobody had locked
  bool withheld = false;  // some event is too large for this claim, and here without its texts
  std::shared_ptr<const void> storage;  // what the views point into
};

}  // namespace outboxd
