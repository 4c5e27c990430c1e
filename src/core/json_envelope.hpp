// json_envelope: the message format `envelope`, which turns an event into one JSON object.
#pragma once

#include <string>

#include "core/event.hpp"

namespace outboxd {

// The object has event_id, event_type, aggregate_type, aggregate_id, sequence, occurred_at, schema_version
// (from the header of that name, or null), trace_id (from the header traceparent, or null), and data: the
// payload, which must be JSON.
std::string json_envelope(const event& from);

}  // namespace outboxd
