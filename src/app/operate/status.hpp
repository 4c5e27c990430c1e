// status: a snapshot of the outbox and its relays, for `outboxd status` and the console, as JSON and as text.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "app/operate/operator_session.hpp"

namespace outboxd::app {

// The statements of sql/status that make up the snapshot.
inline constexpr std::array<std::string_view, 7> status_parts{
    "events", "pauses", "relays", "lock_holders", "row_holders", "snapshot", "table"};

// `session` must be read-only (look_only). If a part cannot be read, because of a lock or a lost connection,
// the array `errors` names it. The other parts are present.
nlohmann::json look_at_outbox(operator_session& session, const relay::postgres_settings& at,
                              std::span<const std::string_view> parts = status_parts);

// Leaves out the parts that could not be read, which are missing in `status`.
std::string status_view(const nlohmann::json& status);

// 0.5 s, 42 s, 3 min 20 s, 5 h 12 min, 3 d 4 h
std::string words_of_seconds(double seconds);

}  // namespace outboxd::app
