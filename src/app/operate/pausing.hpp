// pausing: which parts of the outbox relays leave alone, as operators begin and end it, and in words.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/operate/operator_session.hpp"
#include "app/operate/order.hpp"
#include "flow/stream/pauses.hpp"

namespace outboxd::app {

// event type order.created (ticket 4711), until 2026-01-31 14:00:00 UTC
std::string words_of(const flow::pause& one);

// One of those that sql/status/pauses.sql tells.
flow::pause pause_from(const nlohmann::json& told);

// As sql/status/pauses.sql has them.
outcome<nlohmann::json> pauses_in_force(operator_session& session);

// When the pause is to end: `infinity`, if the order does not say. An error, if that has passed.
outcome<std::string> end_of_pause(operator_session& session, const order& given);

// A word of warning for each type that is perhaps misspelled: none of the latest events has it.
outcome<std::vector<std::string>> unseen_types(operator_session& session, const order& given);

struct pauses {
  std::int64_t ended = 0;
  nlohmann::json in_force;
};
// Begins or ends them, in one transaction, which does no harm when it is done once more. `until`: as
// end_of_pause has it.
outcome<pauses> pause_or_resume(operator_session& session, const order& given, const std::string& until = {});

}  // namespace outboxd::app
