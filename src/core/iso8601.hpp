// iso8601: times as text.
#pragma once

#include <string>

#include "core/event.hpp"

namespace outboxd {

// ISO 8601 in UTC with microseconds, for example 2026-01-31T08:15:00.000042Z.
std::string to_iso8601(timestamp at);

}  // namespace outboxd
