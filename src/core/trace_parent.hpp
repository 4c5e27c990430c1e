// trace_parent: the trace ID of an event, from its header traceparent (W3C Trace Context).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace outboxd {

// Returns the 32 hexadecimal digits of the trace ID if the value is valid: version-traceid-spanid-flags.
std::optional<std::string_view> trace_id_of(std::string_view traceparent);

// Looks up traceparent in an event's headers, the text of a JSON object.
std::optional<std::string> trace_id_of_headers(std::string_view headers);

}  // namespace outboxd
