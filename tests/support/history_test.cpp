// history_test: the checker finds every kind of breach, and none where there is none.
#include "support/history.hpp"

#include <doctest/doctest.h>

namespace outboxd::test::history_test {
namespace {

committed_event row(std::string id, std::int64_t seq, std::string aggregate) {
  committed_event event;
  event.id = std::move(id);
  event.seq = seq;
  event.aggregate_type = "order";
  event.aggregate_id = std::move(aggregate);
  event.event_type = "order.created";
  event.status = "published";
  event.body = R"({"a": 1})";
  event.headers = R"({"tenant": "t1"})";
  event.created_at = 1700000000;
  event.occurred_at = "2023-11-14T22:13:20.000000Z";
  return event;
}

delivery message_of(const committed_event& event) {
  delivery message;
  message.body = event.body;
  message.exchange = "outbox";
  message.routing_key = event.event_type;
  message.properties.message_id = event.id;
  message.properties.type = event.event_type;
  message.properties.app_id = "outboxd";
  message.properties.content_type = "application/json";
  message.properties.delivery_mode = std::uint8_t{2};
  message.properties.timestamp = event.created_at;
  message.properties.headers = {{"tenant", "t1"},
                                {"aggregate_type", event.aggregate_type},
                                {"aggregate_id", event.aggregate_id},
                                {"seq", event.seq},
                                {"occurred_at", event.occurred_at}};
  return message;
}

const std::vector<committed_event> rows{row("a", 1, "1"), row("b", 2, "2"), row("c", 3, "1")};

history_report after(const std::vector<std::size_t>& delivered) {
  history seen;
  for (const auto index : delivered) seen.record(message_of(rows[index]));
  return seen.check(rows);
}

}  // namespace

TEST_CASE("everything once and in order per aggregate is exact, whatever the order between aggregates") {
  CHECK(after({0, 1, 2}).exact());
  CHECK(after({1, 0, 2}).exact());
  CHECK(after({0, 2, 1}).exact());
}

TEST_CASE("a committed event that never arrived is lost, unless it is dead") {
  const auto report = after({0, 2});
  CHECK(report.lost == 1);
  CHECK_FALSE(report.sound());
  CHECK(report.offenders.at(0).find("lost: event b") == 0);

  auto with_dead = rows;
  with_dead[1].status = "dead";
  history seen;
  seen.record(message_of(rows[0]));
  seen.record(message_of(rows[2]));
  CHECK(seen.check(with_dead).exact());
}

TEST_CASE("a message without a row is a phantom") {
  history seen;
  for (const auto& event : rows) seen.record(message_of(event));
  seen.record(message_of(row("z", 9, "1")));
  CHECK(seen.check(rows).phantom == 1);
  CHECK_FALSE(seen.check(rows).sound());
}

TEST_CASE("a second copy is a duplicate, sound but not exact, and does not count for the order") {
  const auto report = after({0, 1, 2, 0});
  CHECK(report.duplicates == 1);
  CHECK(report.out_of_order == 0);
  CHECK(report.sound());
  CHECK_FALSE(report.exact());
}

TEST_CASE("a copy that the broker redelivered is no duplicate") {
  history seen;
  for (const auto& event : rows) seen.record(message_of(event));
  auto again = message_of(rows[0]);
  again.redelivered = true;
  seen.record(again);
  CHECK(seen.check(rows).redelivered == 1);
  CHECK(seen.check(rows).exact());
}

TEST_CASE("a first delivery after a later event of its aggregate is out of order") {
  CHECK(after({2, 1, 0}).out_of_order == 1);
  CHECK(after({2, 0, 1, 0, 2}).out_of_order == 1);
}

TEST_CASE("every difference between message and row is a mismatch that names what differs") {
  const auto spoiled = [](auto spoil) {
    history seen;
    auto message = message_of(rows[0]);
    spoil(message);
    seen.record(message);
    seen.record(message_of(rows[1]));
    seen.record(message_of(rows[2]));
    const auto report = seen.check(rows);
    CHECK(report.mismatches == 1);
    return report.offenders.at(0);
  };
  const auto names = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(names(spoiled([](delivery& m) { m.body += ' '; }), "body"));
  CHECK(names(spoiled([](delivery& m) { m.exchange = "other"; }), "exchange"));
  CHECK(names(spoiled([](delivery& m) { m.routing_key = "other"; }), "routing key"));
  CHECK(names(spoiled([](delivery& m) { m.properties.type.reset(); }), "type is absent"));
  CHECK(names(spoiled([](delivery& m) { m.properties.content_type = "x"; }), "content_type"));
  CHECK(names(spoiled([](delivery& m) { m.properties.delivery_mode = std::uint8_t{1}; }), "delivery_mode"));
  CHECK(names(spoiled([](delivery& m) { m.properties.timestamp = 1U; }), "timestamp"));
  CHECK(names(spoiled([](delivery& m) { m.properties.headers["seq"] = 7; }), "/seq"));
  CHECK(names(spoiled([](delivery& m) { m.properties.headers["extra"] = 1; }), "/extra"));
  CHECK(names(spoiled([](delivery& m) { m.properties.headers.erase("tenant"); }), "/tenant"));
}

TEST_CASE("copies that differ from the first are a mismatch") {
  history seen;
  for (const auto& event : rows) seen.record(message_of(event));
  auto copy = message_of(rows[0]);
  copy.body = "{}";
  seen.record(copy);
  CHECK(seen.check(rows).mismatches == 1);
}

TEST_CASE("rows are read as the database stored them") {
  const fresh_database fresh;
  auto session = fresh.connect();
  for (const std::string type : {"jsonb", "bytea"}) {
    session.exec(
        "DROP SCHEMA IF EXISTS outbox CASCADE; CREATE SCHEMA outbox; CREATE TABLE outbox.event ("
        "id uuid, seq bigint, aggregate_type text, aggregate_id text, event_type text, status text,"
        "payload " +
        type +
        ", headers jsonb, exchange text, routing_key text, created_at timestamptz, last_error_code text)");
    session.exec(
        "INSERT INTO outbox.event VALUES ('00000000-0000-0000-0000-000000000001', 5, 'order', '1', 'order.x',"
        " 'pending', convert_from('\\x7b2261223a317d', 'UTF8')::" +
        type +
        ", '{}', NULL, 'key',"
        " '2023-11-14 22:13:20.9+00')");
    const auto read = committed_events(session);
    REQUIRE(read.size() == 1);
    CHECK(read[0].seq == 5);
    CHECK(read[0].body == (type == "jsonb" ? R"({"a": 1})" : R"({"a":1})"));
    CHECK_FALSE(read[0].exchange.has_value());
    CHECK(read[0].routing_key == "key");
    CHECK(read[0].created_at == 1700000000);
    CHECK(read[0].occurred_at == "2023-11-14T22:13:20.900000Z");
    CHECK(read[0].failure.empty());
  }
}

}  // namespace outboxd::test::history_test
