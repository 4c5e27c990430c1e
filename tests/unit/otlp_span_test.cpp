// otlp_span_test: a span in JSON has the fields of OTLP's schema, and the attributes of OpenTelemetry's
// conventions.
#include "otlp/span.hpp"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "otlp_script.hpp"

namespace otlp_span_test {

using namespace outboxd;
using namespace outboxd::otlp;
using namespace std::chrono_literals;
using nlohmann::json;
using outboxd::test::traced_event;

namespace {

json span_of(const traced_event& from) {
  std::string out;
  append_span(out, from.context(), from.published());
  return json::parse(out);
}

std::map<std::string, json> attributes_of(const json& span) {
  std::map<std::string, json> out;
  for (const auto& one : span.at("attributes")) {
    CHECK(one.size() == 2);
    CHECK(one.at("value").size() == 1);
    CHECK(out.emplace(one.at("key"), one.at("value")).second);
  }
  return out;
}

json text(const char* value) {
  return {{"stringValue", value}};
}

}  // namespace

TEST_CASE(
    "a span has the fields of the schema: ids in hex, times in nanoseconds as text, the kind PRODUCER") {
  const traced_event from;
  auto span = span_of(from);
  CHECK(attributes_of(span).size() == 11);
  span.erase("attributes");
  CHECK(span == json{{"traceId", "4bf92f3577b34da6a3ce929d0e0e4736"},
                     {"spanId", from.context().span_id},
                     {"parentSpanId", "00f067aa0ba902b7"},
                     {"flags", 0x301},
                     {"name", "send outbox:order.created"},
                     {"kind", 4},
                     {"startTimeUnixNano", "1769847300000042000"},
                     {"endTimeUnixNano", "1769847302000042000"}});
}

TEST_CASE("a span's attributes are those of the messaging conventions, and ours") {
  const traced_event from;
  const auto all = attributes_of(span_of(from));
  CHECK(all.at("messaging.system") == text("rabbitmq"));
  CHECK(all.at("messaging.operation.name") == text("send"));
  CHECK(all.at("messaging.operation.type") == text("send"));
  CHECK(all.at("messaging.destination.name") == text("outbox:order.created"));
  CHECK(all.at("messaging.rabbitmq.destination.routing_key") == text("order.created"));
  CHECK(all.at("messaging.message.id") == text("00112233-4455-6677-8899-aabbccddeeff"));
  CHECK(all.at("outboxd.seq") == json{{"intValue", "42"}});
  CHECK(all.at("outboxd.aggregate_type") == text("order"));
  CHECK(all.at("outboxd.aggregate_id") == text("7"));
  CHECK(all.at("outboxd.attempts") == json{{"intValue", "2"}});
  CHECK(all.at("outboxd.outbox_seconds") == json{{"doubleValue", 1.5}});
}

TEST_CASE("an empty routing key is no attribute") {
  const traced_event from;
  auto what = from.published();
  what.routing_key = "";
  std::string out;
  append_span(out, from.context(), what);
  CHECK_FALSE(attributes_of(json::parse(out)).contains("messaging.rabbitmq.destination.routing_key"));
}

TEST_CASE("a span has the trace state of the row, unless that is longer than it may be") {
  traced_event from;
  const auto with = [&from](const std::string& state) {
    from.headers.pop_back();
    const auto headers = from.headers + R"(, "tracestate": )" + state + "}";
    from.headers += "}";
    from.what.headers = headers;
    auto out = span_of(from);
    from.what.headers = from.headers;
    return out;
  };
  CHECK(with(R"("ot=th:8,a=\"b")").at("traceState") == "ot=th:8,a=\"b");
  CHECK(with('"' + std::string(512, 'x') + '"').contains("traceState"));
  CHECK_FALSE(with('"' + std::string(513, 'x') + '"').contains("traceState"));
  CHECK_FALSE(with("17").contains("traceState"));
  CHECK_FALSE(with(R"("")").contains("traceState"));
}

TEST_CASE("a span never ends before it begins, whatever created_at says") {
  traced_event from;
  const auto times = [&](timestamp created, timestamp confirmed) {
    from.what.created_at = created;
    auto what = from.published();
    what.confirmed = confirmed;
    std::string out;
    append_span(out, from.context(), what);
    const auto span = json::parse(out);
    CHECK(attributes_of(span).at("outboxd.outbox_seconds").at("doubleValue") >= 0);
    return span.at("startTimeUnixNano").get<std::string>() + " " +
           span.at("endTimeUnixNano").get<std::string>();
  };
  CHECK(times(timestamp(10s), timestamp(9s)) == "9000000000 9000000000");
  CHECK(times(timestamp::min(), timestamp(9s)).ends_with("000 9000000000"));
  CHECK(times(timestamp(-1s), timestamp(9s)) == "0000 9000000000");
  CHECK(times(timestamp(1h * 24 * 365 * 10'000), timestamp(9s)) == "9000000000 9000000000");
}

TEST_CASE("names of any bytes make a span of valid JSON") {
  traced_event from;
  from.what.aggregate_id = "a\"b\\\n\x01\xff";
  from.what.aggregate_type = "Bestellung äöü";
  const auto all = attributes_of(span_of(from));
  CHECK(all.at("outboxd.aggregate_id") == text("a\"b\\\n\x01\xef\xbf\xbd"));
  CHECK(all.at("outboxd.aggregate_type") == text("Bestellung äöü"));
}

TEST_CASE("head, spans and tail make up a request, which says whose spans they are") {
  const traced_event from;
  std::string body(request_head());
  append_span(body, from.context(), from.published());
  body += ',';
  append_span(body, from.context(), from.published());
  body += request_tail;
  const auto request = json::parse(body);
  const auto& resource = request.at("resourceSpans").at(0);
  CHECK(resource.at("resource").at("attributes").at(0) ==
        json{{"key", "service.name"}, {"value", text("outboxd")}});
  CHECK(resource.at("scopeSpans").at(0).at("scope").at("name") == "outboxd");
  CHECK(resource.at("scopeSpans").at(0).at("spans").size() == 2);
}

}  // namespace otlp_span_test
