// pausing: starts, ends and describes pauses, which stop relays from publishing part of the events.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/operate/operator_session.hpp"
#include "app/operate/order.hpp"
#include "flow/stream/pauses.hpp"

namespace outboxd::app {

// Such as: event type order.created (ticket 4711), until 2026-01-31 14:00:00 UTC
std::string words_of(const flow::pause& one);

// Reads one pause from the JSON of sql/status/pauses.sql.
flow::pause pause_from(const nlohmann::json& told);

// The JSON of sql/status/pauses.sql.
outcome<nlohmann::json> pauses_in_force(operator_session& session);

// When the pause ends: `infinity` if the order names no end. A time in the past is an error.
outcome<std::string> end_of_pause(operator_session& session, const order& given);

// A warning for each type that does not occur among the latest events, and may be misspelled.
outcome<std::vector<std::string>> unseen_types(operator_session& session, const order& given);

struct pauses {
  std::int64_t ended = 0;
  nlohmann::json in_force;
};
// Begins or ends the pauses in one transaction. Repeating the call does no harm. `until`: the result of
// end_of_pause.
outcome<pauses> pause_or_resume(operator_session& session, const order& given, const std::string& until = {});

}  // namespace outboxd::app
