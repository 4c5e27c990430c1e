#include "core/to_message.hpp"

#include <iterator>

#include "core/cloud_event.hpp"
#include "core/iso8601.hpp"
#include "core/json_envelope.hpp"
#include "core/span_context.hpp"
#include "core/trace_parent.hpp"

namespace outboxd {
namespace {

std::string_view content_type_of(payload_type payload) {
  switch (payload) {
    case payload_type::jsonb:
    case payload_type::json:
      return "application/json";
    case payload_type::text:
      return "text/plain";
    case payload_type::bytea:
      return "application/octet-stream";
  }
  return "application/octet-stream";
}

void set_body(message& of, std::string body) {
  of.made_body = std::make_shared<const std::string>(std::move(body));
  of.body = *of.made_body;
}

result<void> put_format(message& into, const event& from, payload_type payload, const routing& by,
                        message_format format) {
  switch (format) {
    case message_format::raw:
      return {};
    case message_format::envelope:
      set_body(into, json_envelope(from));
      return {};
    case message_format::cloudevents: {
      OUTBOXD_TRY(auto body, structured_cloud_event(from, payload, by.cloudevents, into.content_type));
      into.content_type = "application/cloudevents+json";
      set_body(into, std::move(body));
      return {};
    }
    case message_format::cloudevents_binary: {
      OUTBOXD_TRY(auto attributes, cloud_event_headers(from, by.cloudevents));
      into.format_headers.insert(into.format_headers.end(), std::make_move_iterator(attributes.begin()),
                                 std::make_move_iterator(attributes.end()));
      return {};
    }
  }
  return {};
}

std::optional<std::uint64_t> seconds_of(timestamp at) {
  if (!is_common_time(at)) return std::nullopt;
  return static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count());
}

}  // namespace

message to_message(const event& from, payload_type payload, const routing& by) {
  message out{
      .exchange = from.exchange ? *from.exchange : std::string_view(by.exchange),
      .routing_key = from.routing_key.value_or(from.event_type),
      .message_id = to_string(from.id),
      .type = from.event_type,
      .content_type = content_type_of(payload),
      .timestamp = seconds_of(from.created_at),
      .aggregate_type = from.aggregate_type,
      .aggregate_id = from.aggregate_id,
      .seq = from.seq,
      .occurred_at = to_iso8601(from.created_at),
      .headers = from.headers,
      .body = from.payload,
  };
  if (by.spans)
    if (const auto span = span_context_of(from))
      out.format_headers.push_back({std::string(traceparent_header), span->traceparent()});
  return out;
}

result<message> to_message(const event& from, payload_type payload, const routing& by, const routed* how) {
  if (!from.has_texts)
    return permanent(
        "its payload or its headers are NULL: the column has lost the NOT NULL that `outboxd migrate` gives "
        "it");
  message out = to_message(from, payload, by);
  if (how == nullptr) return out;
  if (!how->trouble.empty()) return permanent(how->trouble);
  const route& rule = *how->by;
  out.exchange = how->exchange;
  out.routing_key = how->routing_key;
  if (!how->content_type.empty()) out.content_type = how->content_type;
  out.content_encoding = how->content_encoding;
  out.correlation_id = how->correlation_id;
  out.priority = rule.priority;
  out.persistent = rule.persistent;
  out.mandatory = rule.mandatory;
  if (rule.expiration) out.expiration = std::to_string(rule.expiration->count());
  for (const route_header& one : rule.headers)
    if (!one.made) out.default_headers.push_back(one.fixed);
  out.default_headers.insert(out.default_headers.end(), how->headers.begin(), how->headers.end());
  if (rule.deduplication_header) out.default_headers.push_back({"x-deduplication-header", out.message_id});
  if (auto formed = put_format(out, from, payload, by, rule.format); !formed)
    return tl::make_unexpected(formed.error());
  return out;
}

}  // namespace outboxd
