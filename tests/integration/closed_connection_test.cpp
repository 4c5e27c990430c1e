// Guarantee 7: an event over which the broker closes the whole connection stops nobody else, and is dead in
// the end.
#include <doctest/doctest.h>

#include "closing_event.hpp"
#include "stage.hpp"
#include "support/broker_admin.hpp"
#include "support/fake_broker.hpp"

namespace outboxd::test::closed_connection_test {
namespace {

const arguments three_attempts{"--retry-schedule", "20ms,20ms"};

void insert_good(database& session, const stage& on, const std::string& aggregates, int count) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', $1 || (a % 100), $2, '{}' FROM generate_series(1, $3::int) AS a",
      {aggregates, on.key(), std::to_string(count)});
}

void check_dead(database& session, std::int64_t count) {
  const auto rows =
      session.exec("SELECT attempts, last_error, last_error_code FROM outbox.event WHERE status = 'dead'");
  CHECK(static_cast<std::int64_t>(rows.size()) == count);
  for (const auto& row : rows) {
    CHECK(row[0] == "3");
    CHECK_MESSAGE(row[1]->starts_with(
                      "given up after 3 failed attempts: the broker closed the connection over it: 541"),
                  *row[1]);
    CHECK(row[2] == "connection_closed");
  }
}

}  // namespace

TEST_CASE("events over which the broker closes the connection die, and all others go through") {
  stage on;
  auto session = on.connect();
  session.exec("BEGIN");
  for (int i = 0; i < 3; ++i) {
    insert_good(session, on, "good", 300);
    insert_closing(session, "bad" + std::to_string(i));
  }
  insert_good(session, on, "bad", 100);  // some behind a poisoned one
  session.exec("COMMIT");
  relay running{on, three_attempts};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.lost == 0, report.words());
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == 1'000);
  CHECK(report.dead == 3);
  check_dead(session, 3);
  running.stop();
}

TEST_CASE("one lane alone and one event alone: it dies, and the next one goes through") {
  stage on;
  auto session = on.connect();
  relay running{on, {"--relay-lanes", "1", "--retry-schedule", "20ms,20ms"}};
  running.await_connected();
  insert_closing(session, "a");
  eventually("it is dead",
             [&] { return session.number("SELECT count(*) FROM outbox.event WHERE status = 'dead'") == 1; });
  check_dead(session, 1);
  insert_good(session, on, "a", 5);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == 5);
  running.stop();
}

TEST_CASE(
    "an event with which the connection is gone without a word, again and again, dies, and all others go "
    "out") {
  const stage on;
  auto session = on.connect();
  const std::string bad = "11111111-2222-3333-4444-555555555555";
  fake_broker at{[&bad](broker_conversation& with) {
    with.shake_hands();
    for (std::uint64_t tag = 1;; ++tag) {
      if (with.next_publish() == bad) with.hang_up();
      with.ack(tag);
    }
  }};
  insert_good(session, on, "good", 100);
  session.exec(
      "INSERT INTO outbox.event (id, aggregate_type, aggregate_id, event_type, payload)"
      " VALUES ($1, 'order', 'bad', 'order.created', '{}')",
      {bad});
  insert_good(session, on, "bad", 100);
  relay running{on, three_attempts, {{"OUTBOXD_AMQP_URL", at.url()}}};
  on.await_drained();
  CHECK(on.count("published") == 200);
  const auto dead = session.exec(
      "SELECT id, attempts, last_error_code, last_error FROM outbox.event WHERE status = 'dead'");
  REQUIRE(dead.size() == 1);
  CHECK(dead.at(0)[0] == bad);
  CHECK(dead.at(0)[1] == "3");
  CHECK(dead.at(0)[2] == "connection_closed");
  CHECK_MESSAGE(
      dead.at(0)[3]->find("without a reason while only this event was in flight") != std::string::npos,
      *dead.at(0)[3]);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'published' AND attempts > 0") == 0);
  running.stop();
  for (const auto& complaint : at.complaints()) FAIL_CHECK(complaint);
}

TEST_CASE(
    "words of the broker that are cut inside a character are stored replaced, or it closes the connection") {
  stage on;
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, exchange)"
      " VALUES ('order', 'x', $1, '{}', 'nn' || repeat('\u00e9', 120))",
      {on.key()});
  insert_good(session, on, "good", 200);
  relay running{on, {"--retry-schedule", "20ms,20ms", "--retry-give-up-after", "1s"}};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == 200);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'dead' AND last_error LIKE $1",
                       {rabbitmq_major() < 4 ? "%404 NOT_FOUND%" : "%541 INTERNAL_ERROR%"}) == 1);
  running.stop();
}

}  // namespace outboxd::test::closed_connection_test
