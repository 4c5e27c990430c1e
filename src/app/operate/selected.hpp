// selected: the events that a change is about, named one by one: what comes to match the selectors later is
// not among them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/operate/operator_session.hpp"
#include "core/event.hpp"

namespace outboxd::app {

// In a partitioned outbox others may have the same id.
struct selected_event {
  event_id id;
  std::int64_t seq = 0;
  friend auto operator<=>(const selected_event&, const selected_event&) = default;
};

// As PostgreSQL writes an id and a seq.
selected_event selected_from(std::string_view id, std::int64_t seq);

// Texts of a uuid[] and of a bigint[].
struct event_arrays {
  std::string ids;
  std::string seqs;
};
event_arrays arrays_of(std::span<const selected_event> events);

// The selection is made once and kept by the server, outside of any transaction, as long as the session.
// Returns how many events it has.
outcome<std::int64_t> select_events(operator_session& session, const selectors& resolved, event_set from);

// The next ones of it, in seq order; none: these were all.
outcome<std::vector<selected_event>> next_selected(operator_session& session, std::int64_t most);

}  // namespace outboxd::app
