// json_envelope: the format `envelope`: an event as one JSON object.
#pragma once

#include <string>

#include "core/event.hpp"

namespace outboxd {

// event_id, event_type, aggregate_type, aggregate_id, sequence, occurred_at, schema_version (the header of
// that name, or null), trace_id (of the header traceparent, or null), and data: the payload, which is JSON.
std::string json_envelope(const event& from);

}  // namespace outboxd
