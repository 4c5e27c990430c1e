// What of a row arrives at a consumer: payload, properties, headers, exchange and routing key (contract, "The
// message").
#include <doctest/doctest.h>

#include "stage.hpp"

namespace outboxd::test::message_test {
namespace {

// One event with this payload (an SQL expression), as it arrived.
delivery deliver_one(const stage& on, const std::string& payload, const std::string& headers = "{}") {
  on.connect().exec(
      fmt::format("INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers)"
                  " VALUES ('order', '42', $1, {}, $2)",
                  payload),
      {on.key(), headers});
  relay running{on};
  consumer reader{on.queue()};
  auto message = reader.next(time_limit);
  REQUIRE_MESSAGE(message, running.tail());
  reader.ack(*message);
  running.stop();
  return *message;
}

}  // namespace

TEST_CASE("a jsonb payload arrives as PostgreSQL writes it") {
  const stage on;
  const auto got =
      deliver_one(on, R"('{"b": 1,   "a": [null, true, "gr\u00fc\u00df \ud83d\ude00"], "n": 1.50}')");
  CHECK(got.body == R"({"a": [null, true, "grüß 😀"], "b": 1, "n": 1.50})");
  CHECK(got.properties.content_type == "application/json");
}

TEST_CASE("a json payload arrives byte for byte with its blanks and repeated keys") {
  const stage on{{.payload = "json"}};
  const auto got = deliver_one(on, R"('{ "b" :1,  "a":"ü", "a":"\u0000" }')");
  CHECK(got.body == R"({ "b" :1,  "a":"ü", "a":"\u0000" })");
  CHECK(got.properties.content_type == "application/json");
}

TEST_CASE("a text payload arrives byte for byte") {
  const stage on{{.payload = "text"}};
  const auto got = deliver_one(on, R"(E'first line\nsecond\t"quoted" \\ grüße 😀 ')");
  CHECK(got.body == "first line\nsecond\t\"quoted\" \\ grüße 😀 ");
  CHECK(got.properties.content_type == "text/plain");
}

TEST_CASE("an empty text payload arrives as an empty body") {
  const stage on{{.payload = "text"}};
  CHECK(deliver_one(on, "''").body.empty());
}

TEST_CASE("a bytea payload arrives byte for byte with NUL and 255") {
  const stage on{{.payload = "bytea"}};
  const auto got = deliver_one(on, R"('\x00ff000102cefe00'::bytea)");
  CHECK(got.body == std::string("\x00\xff\x00\x01\x02\xce\xfe\x00", 8));
  CHECK(got.properties.content_type == "application/octet-stream");
}

TEST_CASE("an empty bytea payload arrives as an empty body") {
  const stage on{{.payload = "bytea"}};
  CHECK(deliver_one(on, "''::bytea").body.empty());
}

TEST_CASE("a message carries every property of the contract and no other") {
  const stage on;
  const auto got = deliver_one(on, "'{}'");
  auto session = on.connect();
  const auto row = committed_events(session).at(0);
  properties wanted;
  wanted.content_type = "application/json";
  wanted.delivery_mode = 2;
  wanted.message_id = row.id;
  wanted.type = on.key();
  wanted.app_id = "outboxd";
  wanted.timestamp = row.created_at;
  wanted.headers = {{"aggregate_type", "order"},
                    {"aggregate_id", "42"},
                    {"seq", row.seq},
                    {"occurred_at", row.occurred_at}};
  wanted.header_kinds = {{"aggregate_type", 'S'}, {"aggregate_id", 'S'}, {"seq", 'l'}, {"occurred_at", 'S'}};
  CHECK(got.properties == wanted);
  CHECK(got.exchange == "outbox");
  CHECK(got.routing_key == on.key());
}

TEST_CASE("a row's own headers keep their types") {
  const stage on;
  const auto headers = R"({"none": null, "yes": true, "no": false, "least": -9223372036854775808,
    "most": 9223372036854775807, "beyond-double": 9007199254740993, "half": 0.5, "one": 1.0, "tiny": -1.5e-7,
    "empty": "", "text": "grüße 😀", "list": [1, "two", null, [true]], "no-items": [],
    "object": {"a": {"b": 2.5}, "none": {}}})";
  const auto got = deliver_one(on, "'{}'", headers).properties;
  auto values = got.headers;
  auto kinds = got.header_kinds;
  for (const auto* standard : {"aggregate_type", "aggregate_id", "seq", "occurred_at"}) {
    CHECK(values.erase(standard) == 1);
    kinds.erase(standard);
  }
  CHECK(values == nlohmann::json::parse(headers));
  const std::map<std::string, char> wanted{
      {"none", 'V'},        {"yes", 't'},          {"no", 't'},         {"least", 'l'},    {"most", 'l'},
      {"half", 'd'},        {"one", 'd'},          {"tiny", 'd'},       {"empty", 'S'},    {"text", 'S'},
      {"list", 'A'},        {"list.0", 'l'},       {"list.1", 'S'},     {"list.2", 'V'},   {"list.3", 'A'},
      {"object", 'F'},      {"object.a", 'F'},     {"object.a.b", 'd'}, {"list.3.0", 't'}, {"no-items", 'A'},
      {"object.none", 'F'}, {"beyond-double", 'l'}};
  CHECK(kinds == wanted);
}

TEST_CASE("a row's own header cannot replace a standard one") {
  const stage on;
  const auto got = deliver_one(on, "'{}'", R"({"aggregate_id": "forged", "seq": "forged", "mine": 1})");
  CHECK(got.properties.headers["aggregate_id"] == "42");
  CHECK(got.properties.headers["seq"].is_number());
  CHECK(got.properties.headers["mine"] == 1);
}

TEST_CASE("a row's exchange and routing key take precedence") {
  const stage on;
  const auto exchange = on.key("exchange");
  broker topology;
  topology.declare_exchange(exchange, "direct");
  topology.bind(on.queue(), exchange, "größe/ä b");
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, exchange, routing_key)"
      " VALUES ('order', '1', 'plain', '{}', $1, 'größe/ä b'),"  // both
      "        ('order', '2', 'plain', '{}', NULL, $2),"         // the key alone: exchange outbox
      "        ('order', '3', 'plain', '{}', '', $3),"        // the default exchange: straight to the queue
      "        ('order', '4', 'größe/ä b', '{}', $1, NULL)",  // the exchange alone: the event type is the key
      {exchange, on.key("by-key"), on.queue()});
  relay running{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 4);
  topology.delete_exchange(exchange);
}

TEST_CASE("emit publishes with headers and an id of the caller's choice") {
  const stage on;
  auto session = on.connect();
  const std::string id = "00000000-0000-4000-8000-0000000000ff";
  CHECK(session.value("SELECT outbox.emit('order', '1', $1, '{}', '{\"tenant\": \"acme\"}', id => $2)",
                      {on.key(), id}) == id);
  relay running{on};
  consumer reader{on.queue()};
  const auto message = reader.take(1, time_limit).at(0);
  CHECK(message.message_id() == id);
  CHECK(message.properties.headers["tenant"] == "acme");
}

}  // namespace outboxd::test::message_test
