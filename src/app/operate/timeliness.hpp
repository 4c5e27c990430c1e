// timeliness: whether a change of events that had not been sent came in time, for each of them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "app/operate/portions.hpp"

namespace outboxd::app {

struct settled_event {
  std::string_view id;
  std::int64_t seq = 0;
  std::string_view status;  // or gone
  bool in_time = false;
};

struct timeliness {
  std::int64_t in_time = 0;
  std::int64_t too_late = 0;
};

// Waits, while a relay leads, until none can send any more what these events were before, and tells what
// became of each.
outcome<timeliness> settle(operator_session& session, std::span<const named_event> events,
                           const std::function<void(const settled_event&)>& each);

}  // namespace outboxd::app
