// trace: the state of one event and the reason for it, for `outboxd trace` and the console.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/operate/operator_session.hpp"

namespace outboxd::app {

// For each event with this id: its row without the payload, from sql/status/trace.sql or as much as
// PostgreSQL can read; the event that it waits `behind`; its `state`, a stable word (published, dead,
// scheduled, backing_off, behind, paused, unled, locked, in_memory, unread or unreadable); and `why`, for
// people. Usually there is one event; in a partitioned outbox, each partition may have an event with this id.
// Empty if no such event is in the table. `session` must be read-only (look_only).
outcome<std::vector<nlohmann::json>> trace_event(operator_session& session, const std::string& id);

// For an id that is not in the table: `id`, `state` (unknown or discarded) and `why`.
outcome<nlohmann::json> trace_missing(operator_session& session, const std::string& id);

}  // namespace outboxd::app
