// pausing: which parts of the outbox relays leave alone, as operators begin and end it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/operate/operator_session.hpp"
#include "app/operate/order.hpp"

namespace outboxd::app {

// When the pause is to end: `infinity`, if the order does not say. An error, if that has passed.
outcome<std::string> end_of_pause(operator_session& session, const pause_order& given);

// A word of warning for each type that is perhaps misspelled: none of the latest events has it.
outcome<std::vector<std::string>> unseen_types(operator_session& session, const pause_order& given);

// `until`: as end_of_pause has it.
outcome<void> begin_pause(operator_session& session, const pause_order& given, const std::string& until);

// Returns how many pauses have ended.
outcome<std::int64_t> end_pauses(operator_session& session, const pause_order& given);

// As sql/status/pauses.sql has them.
outcome<nlohmann::json> pauses_in_force(operator_session& session);

}  // namespace outboxd::app
