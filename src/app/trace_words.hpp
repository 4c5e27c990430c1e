// trace_words: why an event is where it is. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace outboxd::app {

struct trace_finding {
  std::string
      state;  // published, dead, scheduled, backing_off, behind, unled, locked, in_memory, unread: stable words
  std::string why;  // for people
};

// `event`: of sql/status/trace.sql. `behind`: of sql/status/behind.sql, null if there is none.
trace_finding explain(const nlohmann::json& event, const nlohmann::json& behind);

}  // namespace outboxd::app
