// iso8601: times as text.
#pragma once

#include <string>

#include "core/event.hpp"

namespace outboxd {

// ISO 8601 in UTC with microseconds, for example 2026-01-31T08:15:00.000042Z.
std::string to_iso8601(timestamp at);

// Of the years 1970 to 9999 in UTC. What is not, such as 'infinity', many readers of times cannot take.
bool is_common_time(timestamp at);

}  // namespace outboxd
