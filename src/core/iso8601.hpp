// iso8601: formats timestamps as text.
#pragma once

#include <string>

#include "core/event.hpp"

namespace outboxd {

// ISO 8601 in UTC with microseconds, for example 2026-01-31T08:15:00.000042Z.
std::string to_iso8601(timestamp at);

// True for the years 1970 to 9999 in UTC. Many parsers reject other times, such as 'infinity'.
bool is_common_time(timestamp at);

}  // namespace outboxd
