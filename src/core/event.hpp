// event: one outbox row as read.
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

// Identifies an event. The id alone is not enough: a partitioned outbox may contain the same id once per
// partition, and a row may be deleted and inserted again. No two rows have the same id and seq at the same
// time; tx, the transaction that inserted the row, distinguishes a row from a later one with the same id and
// seq.
struct event_key {
  event_id id;
  std::int64_t seq = 0;
  std::uint64_t tx = 0;
  friend auto operator<=>(const event_key&, const event_key&) = default;
};

// The usual text form: 8-4-4-4-12 lower-case hexadecimal digits (RFC 9562, section 4).
std::string to_string(const event_id& id);

using timestamp = std::chrono::sys_time<std::chrono::microseconds>;

// The location of a row: its ctid in PostgreSQL's binary format. Only a hint, because an update of the row
// changes its ctid.
struct row_place {
  std::array<char, 6> bytes{};
  bool operator==(const row_place&) const = default;
};

// Views point into the buffer that the owner of the event keeps.
struct event {
  event_id id;
  row_place place;
  std::int64_t seq = 0;
  std::uint64_t tx = 0;          // the transaction that inserted the row
  std::uint32_t written_by = 0;  // the transaction that last updated the row, without the epoch
  std::int64_t aggregate = 0;    // the hash of the aggregate's type and id
  std::string_view aggregate_type;
  std::string_view aggregate_id;
  std::string_view event_type;
  std::string_view payload;
  std::string_view headers;  // the text of a JSON object
  bool has_texts = true;     // false: payload or headers is null, which migrate's table does not allow
  std::optional<std::string_view> exchange;
  std::optional<std::string_view> routing_key;
  std::int32_t attempts = 0;  // failed attempts so far
  timestamp created_at;

  event_key key() const { return {id, seq, tx}; }
};

enum class payload_type { jsonb, json, text, bytea };

}  // namespace outboxd
