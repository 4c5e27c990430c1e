// status: one look at the outbox and its relays, for `outboxd status` and the console; and it as text.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "app/operate/operator_session.hpp"

namespace outboxd::app {

// Statements of sql/status.
inline constexpr std::array<std::string_view, 6> status_parts{"events",   "pauses",   "relays",
                                                              "culprits", "snapshot", "table"};

// `session` has to look only. A part that cannot be read, for a lock or a lost connection, is named in the
// array `errors`. The others are there.
nlohmann::json look_at_outbox(operator_session& session, const relay::postgres_settings& at,
                              std::span<const std::string_view> parts = status_parts);

// Parts that could not be read are missing in `status`, and not shown.
std::string status_view(const nlohmann::json& status);

// 0.5 s, 42 s, 3 min 20 s, 5 h 12 min, 3 d 4 h
std::string words_of_seconds(double seconds);

}  // namespace outboxd::app
