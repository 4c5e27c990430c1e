// trace_parent: the trace that an event belongs to, by its header traceparent (W3C Trace Context). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace outboxd {

// The 32 hexadecimal digits, if the header's value is valid: version-traceid-spanid-flags.
std::optional<std::string_view> trace_id_of(std::string_view traceparent);

// The same from the headers of an event, which are the text of a JSON object.
std::optional<std::string> trace_id_of_headers(std::string_view headers);

}  // namespace outboxd
