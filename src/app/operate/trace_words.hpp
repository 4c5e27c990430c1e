// trace_words: why an event is where it is. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace outboxd::app {

struct trace_finding {
  // published, dead, scheduled, backing_off, behind, paused, unled, locked, in_memory, unread, or unreadable
  // (see trace_command.cpp): stable words
  std::string state;
  std::string why;  // for people
};

// `event`: of sql/status/trace.sql. `behind`: of sql/status/behind.sql, null if there is none.
trace_finding explain(const nlohmann::json& event, const nlohmann::json& behind);

}  // namespace outboxd::app
