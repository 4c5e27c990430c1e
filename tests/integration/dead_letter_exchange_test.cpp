// A dead event is also published to the dead letter exchange, with the reason, where one is configured.
#include <doctest/doctest.h>

#include "stage.hpp"

namespace outboxd::test::dead_letter_exchange_test {
namespace {

// An exchange of this stage's own with a queue of its own behind it.
struct graveyard {
  explicit graveyard(const stage& on) : name{on.queue() + "-dead"} {
    broker session;
    session.declare_exchange(name);
    session.declare_queue(name);
    session.bind(name, name, "#");
  }
  ~graveyard() {
    broker session;
    session.delete_queue(name);
    session.delete_exchange(name);
  }
  graveyard(const graveyard&) = delete;
  graveyard& operator=(const graveyard&) = delete;
  std::string name;
};

}  // namespace

TEST_CASE("a dead event arrives at the dead letter exchange with its reason and where it should have gone") {
  const stage on;
  const graveyard dead{on};
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers, routing_key)"
      " VALUES ('order', '1', 'order.lost', '{\"n\": 1}', '{\"tenant\": \"x\"}', $1)",
      {"unbound-" + on.queue()});
  relay running{on, {"--retry-give-up-after", "1s", "--dead-letter-exchange", dead.name}};
  consumer reader{dead.name};
  const auto letters = reader.take(1, time_limit);
  on.await_drained();
  const auto& got = letters.front();
  CHECK(got.body == R"({"n": 1})");
  CHECK(got.properties.message_id == session.value("SELECT id FROM outbox.event"));
  CHECK(got.properties.headers.at("tenant") == "x");
  CHECK(got.properties.headers.at("dead_exchange") == "outbox");
  CHECK(got.properties.headers.at("dead_routing_key") == "unbound-" + on.queue());
  CHECK(got.properties.headers.at("dead_reason") ==
        "given up after 1 s: returned by the broker: 312 NO_ROUTE");
  CHECK(session.value("SELECT status FROM outbox.event") == "dead");
  running.stop();
}

TEST_CASE("an event that cannot be encoded leaves a dead letter without what cannot be encoded") {
  const stage on;
  const graveyard dead{on};
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers)"
      " VALUES ('order', '1', $1, '{\"n\": 1}', jsonb_build_object(repeat('n', 256), 1))",
      {on.key()});
  relay running{on, {"--dead-letter-exchange", dead.name, "--amqp-max-message-size", "10"}};
  consumer reader{dead.name};
  const auto letters = reader.take(1, time_limit);
  on.await_drained();
  CHECK(letters.front().body == R"({"n": 1})");
  CHECK(letters.front().routing_key == "dead");

  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " VALUES ('order', '2', $1, '{\"n\": 11111111111}')",
      {on.key()});
  const auto large = reader.take(1, time_limit);
  CHECK(large.front().body.empty());
  on.await_drained();
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'dead'") == 2);
  running.stop();
}

TEST_CASE("a dead letter exchange that is gone is said in the reason and changes nothing else") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers)"
      " VALUES ('order', '1', $1, '{}', '{\"CC\": \"x\"}'), ('order', '1', $1, '{}', '{}'),"
      " ('order', '2', $1, '{}', '{}')",
      {on.key()});
  relay running{on, {"--dead-letter-exchange", on.queue() + "-gone"}};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == 2);
  CHECK(report.dead == 1);
  const auto reason = session.value("SELECT last_error FROM outbox.event WHERE status = 'dead'");
  CHECK_MESSAGE(reason.find("; its dead-letter message failed: refused by the broker: 404 NOT_FOUND") !=
                    std::string::npos,
                reason);
  running.stop();
}

}  // namespace outboxd::test::dead_letter_exchange_test
