// cloud_event: an event as CloudEvents 1.0 has it (https://github.com/cloudevents/spec): structured mode in
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

// Attributes: id, source (of the settings), type (event_type), subject (aggregate_id), time (created_at),
// datacontenttype; the extensions sequence (seq, 19 digits), partitionkey (aggregate_id), aggregatetype; and
// traceparent and tracestate of the row's headers. Payloads that are JSON, by their type or by
// `content_type`, are `data` as they are, other texts `data` as a string, bytes `data_base64`.
// An error is permanent: the type or the subject has control characters, the type is empty, or the payload is
// not the JSON that content_type says.
result<std::string> structured_cloud_event(const event& from, payload_type payload,
                                           const cloudevents_settings& by, std::string_view content_type);

// The same attributes but for datacontenttype, each name behind the prefix of the settings.
result<std::vector<message_header>> cloud_event_headers(const event& from, const cloudevents_settings& by);

// application/json and types that end with +json, parameters or not.
bool is_json_type(std::string_view content_type);

}  // namespace outboxd
