// span_context: the span that an event is in the trace of its writer (W3C Trace Context). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/event.hpp"

namespace outboxd {

struct span_context {
  std::string trace_id;   // 32 lower-case hexadecimal digits
  std::string parent_id;  // 16: the writer's span
  std::string span_id;    // 16: a function of the event's id and of the writer's span
  std::uint8_t flags = 0;

  // The message's header of that name.
  std::string traceparent() const;
};

// Nothing if the event's header traceparent is missing, not valid, or not sampled.
std::optional<span_context> span_context_of(const event& one);

}  // namespace outboxd
