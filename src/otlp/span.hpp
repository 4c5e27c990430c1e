// span: a published event as a span, in the JSON of OTLP (opentelemetry/proto/trace/v1/trace.proto). Pure.
#pragma once

#include <string>
#include <string_view>

#include "core/event.hpp"
#include "core/span_context.hpp"

namespace outboxd::otlp {

// Times on PostgreSQL's clock. Views live as long as the call that takes them.
struct published_event {
  const event& what;
  std::string_view destination;  // messaging.destination.name
  std::string_view routing_key;
  timestamp sent;  // for the last time
  timestamp confirmed;
};

// A Span: from created_at to the confirm, of the kind PRODUCER, with the attributes of OpenTelemetry's
// messaging conventions and ours with the prefix "outboxd.".
void append_span(std::string& to, const span_context& at, const published_event& of);

// An ExportTraceServiceRequest is its head, spans with commas between them, and its tail.
std::string_view request_head();
inline constexpr std::string_view request_tail = "]}]}]}";

}  // namespace outboxd::otlp
