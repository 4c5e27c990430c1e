// event: one row of the outbox as it was read.
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

// What an event is known by. The id alone will not do: in a partitioned outbox it may come once in each
// partition, and a row may be deleted and inserted again. No two rows have the same id and the same seq at a
// time; tx, the transaction that inserted the row, tells one from another that has taken its place.
struct event_key {
  event_id id;
  std::int64_t seq = 0;
  std::uint64_t tx = 0;
  friend auto operator<=>(const event_key&, const event_key&) = default;
};

// The usual text form: 8-4-4-4-12 lower-case hexadecimal digits (RFC 9562, section 4).
std::string to_string(const event_id& id);

using timestamp = std::chrono::sys_time<std::chrono::microseconds>;

// Where a row lies: its ctid, as PostgreSQL sends it. A hint: a change of the row moves it.
struct row_place {
  std::array<char, 6> bytes{};
  bool operator==(const row_place&) const = default;
};

// Views point into what was read, which the owner of the event keeps.
struct event {
  event_id id;
  row_place place;
  std::int64_t seq = 0;
  std::uint64_t tx = 0;          // that inserted it
  std::uint32_t written_by = 0;  // the transaction that wrote it last, without its epoch
  std::int64_t aggregate = 0;    // the hash of its type and id
  std::string_view aggregate_type;
  std::string_view aggregate_id;
  std::string_view event_type;
  std::string_view payload;
  std::string_view headers;  // the text of a JSON object
  bool has_texts = true;  // false: payload or headers are null, which the table as migrate makes it refuses
  std::optional<std::string_view> exchange;
  std::optional<std::string_view> routing_key;
  std::int32_t attempts = 0;  // failed so far
  timestamp created_at;

  event_key key() const { return {id, seq, tx}; }
};

enum class payload_type { jsonb, json, text, bytea };

}  // namespace outboxd
