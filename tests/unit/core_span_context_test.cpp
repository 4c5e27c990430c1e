// core_span_context_test: which events are spans, the ids of a span, and what a message says of it.
#include "core/span_context.hpp"

#include <doctest/doctest.h>

#include "core/to_message.hpp"

namespace core_span_context_test {

using namespace outboxd;

namespace {

const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string parent = "00f067aa0ba902b7";

event event_with(std::string_view headers) {
  event one;
  for (std::uint8_t i = 0; i < 16; ++i) one.id.bytes[i] = static_cast<std::uint8_t>(i * 0x11U);
  one.event_type = "order.created";
  one.aggregate_type = "order";
  one.aggregate_id = "7";
  one.payload = "{}";
  one.headers = headers;
  return one;
}

std::string traceparent(std::string_view flags, std::string_view span = parent) {
  return "00-" + trace + "-" + std::string(span) + "-" + std::string(flags);
}

std::string headers_with(std::string_view value) {
  return R"({"a": 1, "traceparent": ")" + std::string(value) + R"("})";
}

std::optional<span_context> span_of(const std::string& headers) {
  return span_context_of(event_with(headers));
}

std::string sent_traceparent(const message& of) {
  for (const auto& one : of.format_headers)
    if (one.name == "traceparent") return std::get<std::string>(one.value);
  return {};
}

}  // namespace

TEST_CASE("an event of a sampled trace is a span of that trace, below the span that its header names") {
  const auto got = span_of(headers_with(traceparent("01")));
  REQUIRE(got);
  CHECK(got->trace_id == trace);
  CHECK(got->parent_id == parent);
  // FNV-1a over the bytes of the id and the digits of the parent, computed by another program.
  CHECK(got->span_id == "7674620d6d556f93");
  CHECK(got->traceparent() == "00-" + trace + "-7674620d6d556f93-01");
}

TEST_CASE("the span id depends on the event's id and on the writer's span, and on nothing else of the row") {
  const auto headers = headers_with(traceparent("01"));
  auto one = event_with(headers);
  const auto first = span_context_of(one)->span_id;
  one.seq = 99;
  one.attempts = 3;
  one.tx = 17;
  one.payload = "[]";
  CHECK(span_context_of(one)->span_id == first);
  one.id.bytes[15] ^= 1U;
  CHECK(span_context_of(one)->span_id != first);
  CHECK(span_of(headers_with(traceparent("01", "00f067aa0ba902b8")))->span_id != first);
  // A consumer that passes the message on under its id, with its headers, makes another span.
  CHECK(span_of(headers_with(traceparent("01", first)))->span_id != first);
}

TEST_CASE("an event without a sampled traceparent is no span") {
  CHECK_FALSE(span_of("{}"));
  CHECK_FALSE(span_of(""));
  CHECK_FALSE(span_of(R"({"a": "traceparent"})"));
  CHECK_FALSE(span_of(headers_with(traceparent("00"))));
  CHECK_FALSE(span_of(headers_with(traceparent("02"))));
  CHECK_FALSE(span_of(headers_with(traceparent("01", "0000000000000000"))));
  CHECK_FALSE(span_of(headers_with("01")));
  CHECK_FALSE(span_of(R"({"traceparent": 1})"));
  CHECK_FALSE(span_of(R"({"traceparent": null})"));
  CHECK_FALSE(span_of(R"({"traceparent")"));
  CHECK_FALSE(span_of(R"({"traceparent":)"));
  CHECK_FALSE(span_of(R"({"traceparent": ")" + traceparent("01")));
  // Not at the top, or in a text.
  CHECK_FALSE(span_of(R"({"a": )" + headers_with(traceparent("01")) + "}"));
  CHECK_FALSE(span_of(R"({"a": "\"traceparent\": \")" + traceparent("01") + R"(\""})"));
}

TEST_CASE("a sampled traceparent is found however its JSON is written") {
  CHECK(span_of(R"({"traceparent":")" + traceparent("01") + R"("})"));
  CHECK(span_of("{ \"traceparent\" \n:\t\"" + traceparent("01") + "\" }"));
  CHECK(span_of(R"({"\u0074raceparent": ")" + traceparent("01") + R"("})"));
  CHECK(span_of(R"({"b": "traceparent", "traceparent": ")" + traceparent("01") + R"("})"));
  CHECK(span_of(R"({"b": {"traceparent": ")" + traceparent("00") + R"("}, "traceparent": ")" +
                traceparent("01") + R"("})"));
  CHECK_FALSE(span_of(R"({"b": {"traceparent": ")" + traceparent("01") + R"("}, "traceparent": ")" +
                      traceparent("00") + R"("})"));
}

TEST_CASE("of the flags a span hands on the defined ones") {
  CHECK(span_of(headers_with(traceparent("03")))->traceparent().ends_with("-03"));
  CHECK(span_of(headers_with(traceparent("ff")))->traceparent().ends_with("-03"));
  CHECK(span_of(headers_with("cc-" + trace + "-" + parent + "-01-more"))->traceparent().starts_with("00-"));
}

TEST_CASE("with spans a message of a sampled trace names the span in place of the row's traceparent") {
  const auto headers = headers_with(traceparent("01"));
  const auto from = event_with(headers);
  const auto with = to_message(from, payload_type::jsonb, {.spans = true});
  CHECK(sent_traceparent(with) == span_context_of(from)->traceparent());
  CHECK(to_message(from, payload_type::jsonb, {}).format_headers.empty());
  const auto unsampled = headers_with(traceparent("00"));
  CHECK(to_message(event_with(unsampled), payload_type::jsonb, {.spans = true}).format_headers.empty());
}

TEST_CASE("CloudEvents keep the traceparent of the row as their attribute, where the header names the span") {
  const auto headers = headers_with(traceparent("01"));
  const auto from = event_with(headers);
  const routing by{.spans = true};
  route rule;
  rule.format = message_format::cloudevents_binary;
  routed how;
  how.by = std::make_shared<const route>(rule);
  const auto got = to_message(from, payload_type::jsonb, by, &how);
  REQUIRE(got);
  CHECK(sent_traceparent(*got) == span_context_of(from)->traceparent());
  std::string attribute;
  for (const auto& one : got->format_headers)
    if (one.name == "cloudEvents_traceparent") attribute = std::get<std::string>(one.value);
  CHECK(attribute == traceparent("01"));
}

}  // namespace core_span_context_test
