// relay.after_dead = hold: nothing goes out behind a dead event of its aggregate until that is retried or
// discarded.
#include <doctest/doctest.h>

#include "operator_desk.hpp"
#include "stage.hpp"

namespace outboxd::test::after_dead_test {
namespace {

const arguments hold{"--relay-after-dead", "hold", "--retry-give-up-after", "1s"};

// One for which no queue is bound, and good ones behind it.
std::string add_bad_one(database& session, const stage& on, const std::string& aggregate, int good) {
  const auto id = session.value(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " VALUES ('order', $1, $2, '{}') RETURNING id",
      {aggregate, "nowhere." + on.queue()});
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', $1, $2, '{}' FROM generate_series(1, $3::int)",
      {aggregate, on.key(), std::to_string(good)});
  return id;
}

std::int64_t published(database& session, const std::string& aggregate) {
  return std::stoll(session.value(
      "SELECT count(*) FROM outbox.event WHERE aggregate_id = $1 AND status = 'published'", {aggregate}));
}

// Its first one is dead, and so many wait behind it.
void await_held(database& session, const std::string& aggregate, int events) {
  eventually(
      "its later events are parked",
      [&] {
        return session.value(
                   "SELECT count(*) FILTER (WHERE status = 'dead') || '+' || count(*) FILTER (WHERE "
                   "exception ="
                   " 'parked') FROM outbox.event WHERE aggregate_id = $1",
                   {aggregate}) == fmt::format("1+{}", events);
      },
      time_limit);
}

}  // namespace

TEST_CASE("an aggregate waits behind its dead event, also for the next relay, until that is discarded") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  {
    relay first{on, hold};
    first.await_connected();
    const auto bad = add_bad_one(session, on, "bad", 3);
    on.add_events(5, 2);
    on.await_published(10);
    await_held(session, "bad", 3);
    CHECK(on.count("dead") == 1);
    const auto behind = session.value("SELECT id FROM outbox.event WHERE exception = 'parked' LIMIT 1");
    const auto told = desk.json({"trace", "--id", behind});
    CHECK(told.at("state") == "behind");
    CHECK(told.at("behind").at("id") == bad);
    first.stop();
  }
  relay second{on, hold};
  second.await_connected();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload) VALUES ('order', 'bad', "
      "$1, '{}')",
      {on.key()});
  await_held(session, "bad", 4);
  CHECK(published(session, "bad") == 0);
  desk.text({"dead", "discard", "--all"});
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(published(session, "bad") == 4);
  second.stop();
}

TEST_CASE("a dead event that is retried goes out before those that wait behind it") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  relay running{on, hold};
  running.await_connected();
  const auto bad = add_bad_one(session, on, "bad", 3);
  await_held(session, "bad", 3);
  session.exec("UPDATE outbox.event SET event_type = $2 WHERE id = $1::uuid", {bad, on.key()});
  desk.text({"dead", "retry", "--id", bad});
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(published(session, "bad") == 4);
  running.stop();
}

TEST_CASE("what is deleted or set to published by hand holds nobody any more") {
  const stage on;
  auto session = on.connect();
  relay running{on, hold};
  running.await_connected();
  add_bad_one(session, on, "deleted", 2);
  add_bad_one(session, on, "set", 2);
  await_held(session, "deleted", 2);
  await_held(session, "set", 2);
  session.exec("DELETE FROM outbox.event WHERE status = 'dead' AND aggregate_id = 'deleted'");
  session.exec("UPDATE outbox.event SET event_type = 'x' , status = 'published' WHERE status = 'dead'");
  eventually(
      "both go on", [&] { return published(session, "deleted") == 2 && published(session, "set") == 3; },
      time_limit);
  running.stop();
}

}  // namespace outboxd::test::after_dead_test
