// core_formats_test: the bodies and headers of the formats envelope and cloudevents, field by field.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/cloud_event.hpp"
#include "core/to_message.hpp"

namespace core_formats_test {

using namespace outboxd;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

event sample() {
  event one;
  for (std::uint8_t i = 0; i < 16; ++i) one.id.bytes[i] = static_cast<std::uint8_t>(i * 0x11U);
  one.seq = 42;
  one.aggregate_type = "order";
  one.aggregate_id = "7";
  one.event_type = "order.created";
  one.payload = R"({"a": 1})";
  one.headers = R"({"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",)"
                R"("tracestate":"v=1","schema_version":3})";
  one.created_at = timestamp(std::chrono::sys_days(std::chrono::year{2026} / 1 / 31) + 8h + 15min + 42us);
  return one;
}

struct formed {
  routing by;
  std::shared_ptr<const routed> taken;
  result<message> what;

  formed(const event& from, payload_type payload, message_format format, std::string_view content_type = {},
         std::string prefix = "cloudEvents_") {
    route one;
    one.name = "all";
    one.format = format;
    if (!content_type.empty()) one.content_type = *text_template::parse(content_type);
    by.routes.push_back(std::make_shared<const route>(std::move(one)));
    by.cloudevents = {"https://shop.example/orders", std::move(prefix)};
    taken = resolve(from, by);
    what = to_message(from, payload, by, taken.get());
  }
  json body() const { return json::parse(what->body); }
  std::string error() const { return what ? "" : what.error().message; }
};

}  // namespace

TEST_CASE("an envelope is one JSON object with the event's fields and the payload") {
  const event from = sample();
  const formed got(from, payload_type::jsonb, message_format::envelope);
  REQUIRE(got.what);
  CHECK(got.what->content_type == "application/json");
  CHECK(got.body() == json::parse(R"({
    "event_id": "00112233-4455-6677-8899-aabbccddeeff", "event_type": "order.created",
    "aggregate_type": "order", "aggregate_id": "7", "sequence": 42,
    "occurred_at": "2026-01-31T08:15:00.000042Z", "schema_version": 3,
    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "data": {"a": 1}})"));
  CHECK(got.what->body.find(R"("data":{"a": 1})") != std::string_view::npos);
}

TEST_CASE("an envelope says null for a version and a trace that are not there, and escapes what it must") {
  event from = sample();
  from.headers = R"({"schema_version":"v2"})";
  from.aggregate_id = "a\"\\\n\x01";
  const formed got(from, payload_type::json, message_format::envelope);
  CHECK(got.body()["trace_id"].is_null());
  CHECK(got.body()["schema_version"] == "v2");
  CHECK(got.body()["aggregate_id"] == from.aggregate_id);
  from.headers = "{}";
  CHECK(formed(from, payload_type::json, message_format::envelope).body()["schema_version"].is_null());
}

TEST_CASE("a structured CloudEvent has the attributes of the specification and the payload as data") {
  const event from = sample();
  const formed got(from, payload_type::jsonb, message_format::cloudevents);
  REQUIRE(got.what);
  CHECK(got.what->content_type == "application/cloudevents+json");
  CHECK(got.what->format_headers.empty());
  CHECK(got.body() == json::parse(R"({
    "specversion": "1.0", "id": "00112233-4455-6677-8899-aabbccddeeff",
    "source": "https://shop.example/orders", "type": "order.created", "subject": "7",
    "time": "2026-01-31T08:15:00.000042Z", "sequence": "0000000000000000042", "partitionkey": "7",
    "aggregatetype": "order", "datacontenttype": "application/json",
    "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tracestate": "v=1",
    "data": {"a": 1}})"));
}

TEST_CASE("the names of CloudEvents' attributes are lower-case letters and digits, twenty at most") {
  const event from = sample();
  const formed got(from, payload_type::jsonb, message_format::cloudevents);
  const auto body = got.body();
  for (const auto& [name, value] : body.items()) {
    CAPTURE(name);
    CHECK(name.size() <= 20);
    CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string::npos);
  }
}

TEST_CASE("a binary CloudEvent has the attributes as headers and the payload as it is") {
  const event from = sample();
  for (const std::string prefix : {"cloudEvents_", "ce-"}) {
    CAPTURE(prefix);
    const formed got(from, payload_type::jsonb, message_format::cloudevents_binary, {}, prefix);
    REQUIRE(got.what);
    CHECK(got.what->content_type == "application/json");
    CHECK(got.what->body == from.payload);
    json headers;
    for (const auto& one : got.what->format_headers) headers[one.name] = std::get<std::string>(one.value);
    CHECK(headers == json{{prefix + "specversion", "1.0"},
                          {prefix + "id", "00112233-4455-6677-8899-aabbccddeeff"},
                          {prefix + "source", "https://shop.example/orders"},
                          {prefix + "type", "order.created"},
                          {prefix + "subject", "7"},
                          {prefix + "time", "2026-01-31T08:15:00.000042Z"},
                          {prefix + "sequence", "0000000000000000042"},
                          {prefix + "partitionkey", "7"},
                          {prefix + "aggregatetype", "order"},
                          {prefix + "traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
                          {prefix + "tracestate", "v=1"}});
  }
}

TEST_CASE("texts are data as a string, or as JSON if the route says so, and bytes are base64") {
  event from = sample();
  from.payload = "line one\n";
  CHECK(formed(from, payload_type::text, message_format::cloudevents).body()["data"] == "line one\n");
  CHECK(formed(from, payload_type::text, message_format::cloudevents).body()["datacontenttype"] ==
        "text/plain");
  CHECK(formed(from, payload_type::text, message_format::cloudevents, "application/json").error() ==
        "its payload is not JSON, and its content type is application/json");
  from.payload = "[1]";
  CHECK(formed(from, payload_type::text, message_format::cloudevents, "application/x+json; charset=utf-8")
            .body()["data"] == json::parse("[1]"));
  from.payload = std::string_view("\0\xff\x10", 3);
  const formed bytes(from, payload_type::bytea, message_format::cloudevents);
  CHECK(bytes.body()["data_base64"] == "AP8Q");
  CHECK_FALSE(bytes.body().contains("data"));
}

TEST_CASE("base64 has padding") {
  event from = sample();
  for (const auto& [plain, encoded] :
       {std::pair("", ""), std::pair("f", "Zg=="), std::pair("fo", "Zm8="), std::pair("foo", "Zm9v")}) {
    from.payload = plain;
    CHECK(formed(from, payload_type::bytea, message_format::cloudevents).body()["data_base64"] == encoded);
  }
}

TEST_CASE("what CloudEvents does not allow is the event's own fault, and says what") {
  event from = sample();
  from.event_type = "a\x01";
  CHECK(formed(from, payload_type::jsonb, message_format::cloudevents).error() ==
        "its event type has control characters, which CloudEvents does not allow");
  from.event_type = "a\xc2\x85";
  CHECK_FALSE(formed(from, payload_type::jsonb, message_format::cloudevents_binary).what);
  from.event_type = "";
  CHECK(formed(from, payload_type::jsonb, message_format::cloudevents).error() ==
        "its event type is empty, and CloudEvents requires a type");
  from = sample();
  from.aggregate_id = "a\nb";
  CHECK_FALSE(formed(from, payload_type::jsonb, message_format::cloudevents).what);
  CHECK(formed(from, payload_type::jsonb, message_format::envelope).what);
}

TEST_CASE("a subject that is empty and a year of five digits are left out of a CloudEvent") {
  event from = sample();
  from.aggregate_id = "";
  from.created_at = timestamp(std::chrono::sys_days(std::chrono::year{12345} / 1 / 1));
  const auto body = formed(from, payload_type::jsonb, message_format::cloudevents).body();
  CHECK_FALSE(body.contains("subject"));
  CHECK_FALSE(body.contains("partitionkey"));
  CHECK_FALSE(body.contains("time"));
}

TEST_CASE("media types that are JSON are known by their names") {
  for (const auto* const yes : {"application/json", "Application/JSON", "application/json; charset=utf-8",
                                "application/vnd.x+json", "text/json"})
    CHECK(is_json_type(yes));
  for (const auto* const no : {"", "text/plain", "application/jsonx", "application/octet-stream"})
    CHECK_FALSE(is_json_type(no));
}

}  // namespace core_formats_test
