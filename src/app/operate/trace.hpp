// trace: what is known of one event, and why it is where it is, for `outboxd trace` and the console.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/operate/operator_session.hpp"

namespace outboxd::app {

// Of each event with this id: its row without the payload, as sql/status/trace.sql has it or as much as
// PostgreSQL can read, what it waits `behind`, its `state` (published, dead, scheduled, backing_off, behind,
// paused, unled, locked, in_memory, unread or unreadable: stable words), and `why`, for people. One, as a
// rule; in a partitioned outbox each partition may have one. None: it is not there. `session` has to look
// only.
outcome<std::vector<nlohmann::json>> trace_event(operator_session& session, const std::string& id);

// Of an id that is not in the table: `id`, `state` (unknown or discarded) and `why`.
outcome<nlohmann::json> trace_missing(operator_session& session, const std::string& id);

}  // namespace outboxd::app
