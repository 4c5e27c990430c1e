// pause_words: what is paused, for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "flow/stream/pauses.hpp"

namespace outboxd::app {

// event type order.created (ticket 4711), until 2026-01-31 14:00:00 UTC
std::string words_of(const flow::pause& one);

// One of those that sql/status/pauses.sql tells.
flow::pause pause_from(const nlohmann::json& told);

}  // namespace outboxd::app
