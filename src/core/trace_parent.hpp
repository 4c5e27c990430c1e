// trace_parent: the trace ID of an event, from its header traceparent (W3C Trace Context).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outboxd {

inline constexpr std::string_view traceparent_header = "traceparent";

struct trace_parent {
  std::string_view trace_id;  // 32 hexadecimal digits
  std::string_view span_id;   // 16
  std::uint8_t flags = 0;

  bool sampled() const { return (flags & 1U) != 0; }
};

// Returns nullopt unless the value is valid: version-traceid-spanid-flags.
std::optional<trace_parent> parse_trace_parent(std::string_view traceparent);

// Looks up the trace ID in an event's headers, the text of a JSON object.
std::optional<std::string> trace_id_of_headers(std::string_view headers);

}  // namespace outboxd
