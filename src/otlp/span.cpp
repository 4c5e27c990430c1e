#include "otlp/span.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "core/event_headers.hpp"
#include "core/json_text.hpp"

namespace outboxd::otlp {
namespace {

constexpr int kind_producer = 4;  // Span.SpanKind

// SpanFlags: whether the parent is in another process is known, and it is.
constexpr unsigned has_remote_parent = 0x300;

// W3C Trace Context asks for no more than 512 characters.
constexpr std::size_t longest_state = 512;

void put_text(std::string& to, std::string_view key, std::string_view text) {
  to += R"(,{"key":")";
  to += key;
  to += R"(","value":{"stringValue":)";
  append_json_string(to, text);
  to += "}}";
}

// 64-bit integers are strings in the JSON of protobuf.
void put_integer(std::string& to, std::string_view key, std::int64_t value) {
  fmt::format_to(std::back_inserter(to), R"(,{{"key":"{}","value":{{"intValue":"{}"}}}})", key, value);
}

void put_seconds(std::string& to, std::string_view key, std::chrono::microseconds value) {
  fmt::format_to(std::back_inserter(to), R"(,{{"key":"{}","value":{{"doubleValue":{}.{:06}}}}})", key,
                 value.count() / 1'000'000, value.count() % 1'000'000);
}

void put_state(std::string& to, std::string_view headers) {
  const auto state = find_header(headers, "tracestate");
  if (!state || !state->is_text || state->text.empty() || state->text.size() > longest_state) return;
  to += R"(,"traceState":)";
  append_json_string(to, state->text);
}

}  // namespace

// The times come from one clock, but that of the confirm is an estimate, and created_at may be anything.
void append_span(std::string& to, const span_context& at, const published_event& of) {
  const event& one = of.what;
  const auto end = std::max(of.confirmed, timestamp());
  const auto begin = std::clamp(one.created_at, timestamp(), end);
  const auto sent = std::clamp(of.sent, begin, end);
  fmt::format_to(std::back_inserter(to), R"({{"traceId":"{}","spanId":"{}","parentSpanId":"{}","flags":{})",
                 at.trace_id, at.span_id, at.parent_id, at.flags | has_remote_parent);
  put_state(to, one.headers);
  to += R"(,"name":)";
  append_json_string(to, fmt::format("send {}", of.destination));
  fmt::format_to(std::back_inserter(to),
                 R"(,"kind":{},"startTimeUnixNano":"{}000","endTimeUnixNano":"{}000","attributes":[)",
                 kind_producer, begin.time_since_epoch().count(), end.time_since_epoch().count());
  to += R"({"key":"messaging.system","value":{"stringValue":"rabbitmq"}})"
        R"(,{"key":"messaging.operation.name","value":{"stringValue":"send"}})"
        R"(,{"key":"messaging.operation.type","value":{"stringValue":"send"}})";
  put_text(to, "messaging.destination.name", of.destination);
  if (!of.routing_key.empty()) put_text(to, "messaging.rabbitmq.destination.routing_key", of.routing_key);
  put_text(to, "messaging.message.id", to_string(one.id));
  put_integer(to, "outboxd.seq", one.seq);
  put_text(to, "outboxd.aggregate_type", one.aggregate_type);
  put_text(to, "outboxd.aggregate_id", one.aggregate_id);
  put_integer(to, "outboxd.attempts", one.attempts);
  put_seconds(to, "outboxd.outbox_seconds", sent - begin);
  to += "]}";
}

std::string_view request_head() {
  return R"({"resourceSpans":[{"resource":{"attributes":[)"
         R"({"key":"service.name","value":{"stringValue":"outboxd"}})"
         R"(,{"key":"service.version","value":{"stringValue":")" OUTBOXD_VERSION R"("}}]})"
         R"(,"scopeSpans":[{"scope":{"name":"outboxd"},"spans":[)";
}

}  // namespace outboxd::otlp
