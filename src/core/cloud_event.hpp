// cloud_event: converts an event to CloudEvents 1.0 (https://github.com/cloudevents/spec): structured mode in
// the JSON format, and binary mode of the AMQP binding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/event.hpp"
#include "core/message.hpp"
#include "core/routing.hpp"

namespace outboxd {

// Attributes: id, source (from the settings), type (event_type), subject (aggregate_id), time (created_at),
// datacontenttype; the extensions sequence (seq, 19 digits), partitionkey (aggregate_id), aggregatetype; and
// traceparent and tracestate from the row's headers. A payload that is JSON, by its column type or by
// `content_type`, becomes `data` unchanged; any other text becomes `data` as a JSON string; bytes become
// `data_base64`.
// Errors are permanent: the type or the subject contains control characters, the type is empty, or
// content_type says JSON and the payload is not JSON.
result<std::string> structured_cloud_event(const event& from, payload_type payload,
                                           const cloudevents_settings& by, std::string_view content_type);

// The same attributes except datacontenttype, each name prefixed with the setting header_prefix.
result<std::vector<message_header>> cloud_event_headers(const event& from, const cloudevents_settings& by);

// True for application/json, text/json and types ending in +json, with or without parameters.
bool is_json_type(std::string_view content_type);

}  // namespace outboxd
