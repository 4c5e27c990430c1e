// timeliness: whether a change of events that had not been sent came in time, for each of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/commands.hpp"
#include "app/operator_session.hpp"

namespace outboxd::app {

struct named_event {
  std::string id;
  std::string seq;
  bool changed = false;  // else it had been published, or somebody else has changed it
};

// Waits, while a relay leads, until none can send any more what these events were before, and prints what
// became of each.
outcome<int> tell_timeliness(operator_session& session, std::string_view command,
                             const std::vector<named_event>& events, const change_options& options);

}  // namespace outboxd::app
