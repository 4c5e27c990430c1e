// A message that the broker returns is not published: it waits, its aggregate behind it, and nobody else.
#include <doctest/doctest.h>

#include <algorithm>

#include "stage.hpp"

namespace outboxd::test::returned_test {
namespace {

// A routing key that no queue is bound to, until `bind`.
std::string lost_key(const stage& on) {
  return "unbound-" + on.queue();
}

void insert(database& session, const std::string& aggregate, const std::string& event_type, int count = 1) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', $1, $2, '{}' FROM generate_series(1, $3::int)",
      {aggregate, event_type, std::to_string(count)});
}

std::int64_t count(database& session, const std::string& condition) {
  return session.number("SELECT count(*) FROM outbox.event WHERE " + condition);
}

std::int64_t count_lines(process& of, std::string_view text) {
  of.all_lines();
  return of.count_lines(text);
}

}  // namespace

TEST_CASE("a returned event waits with its reason and its aggregate behind it while others flow") {
  const stage on;
  auto session = on.connect();
  relay running{on};
  insert(session, "stuck", lost_key(on));
  eventually("the event was returned", [&] { return count(session, "first_failed_at IS NOT NULL") == 1; });
  const auto row =
      session.exec("SELECT last_error, published_at, exception, last_error_code FROM outbox.event").at(0);
  CHECK_MESSAGE(row[0]->starts_with("returned by the broker: 312 NO_ROUTE"), *row[0]);
  CHECK_FALSE(row[1].has_value());
  CHECK(row[2] == "backing_off");
  CHECK(row[3] == "returned");
  CHECK(count(session, "available_at = first_failed_at + interval '24 hours'") == 1);

  insert(session, "stuck", on.key(), 3);
  insert(session, "free", on.key(), 3);
  eventually("the other aggregate has left",
             [&] { return count(session, "aggregate_id = 'free' AND status = 'published'") == 3; });
  eventually("the stuck aggregate's later events wait behind", [&] {
    return count(session,
                 "aggregate_id = 'stuck' AND event_type LIKE 'test-%' AND status = 'waiting'"
                 " AND attempts = 0 AND exception = 'parked'") == 3;
  });
  CHECK(count(session, "status = 'published'") == 3);

  broker{}.bind(on.queue(), "outbox", lost_key(on));
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 7);
  CHECK(count(session, "status = 'published' AND exception IS NULL") == 7);
  running.stop();
}

TEST_CASE("a returned event holds back its followers of the same batch") {
  const stage on;
  auto session = on.connect();
  session.exec("BEGIN");
  for (int i = 0; i < 20; ++i) {
    const auto aggregate = std::to_string(i);
    insert(session, aggregate, on.key(), 2);
    insert(session, aggregate, lost_key(on));
    insert(session, aggregate, on.key(), 3);
  }
  session.exec("COMMIT");
  relay running{on};
  eventually("all returned events have failed",
             [&] { return count(session, "last_error_code = 'returned'") == 20; });
  eventually("their followers wait behind", [&] { return count(session, "exception = 'parked'") == 60; });
  on.await_published(40);
  CHECK(count(session, "status = 'published'") == 40);
  broker{}.bind(on.queue(), "outbox", lost_key(on));
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 120);
  running.stop();
}

TEST_CASE("an event that fails again keeps its first failure, and its time ends when it would have ended") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, first_failed_at)"
      " VALUES ('order', 'stuck', $1, '{}', now() - interval '1 hour')",
      {lost_key(on)});
  const auto before = session.value("SELECT first_failed_at FROM outbox.event");
  relay running{on};
  eventually("it waits", [&] { return count(session, "waits_for IS NOT NULL") == 1; });
  CHECK(session.value("SELECT first_failed_at FROM outbox.event") == before);
  CHECK(count(session, "available_at = first_failed_at + interval '24 hours'") == 1);
  running.stop();
}

TEST_CASE("thousands of events behind a returned one are parked once and are not read again") {
  const stage on;
  auto session = on.connect();
  insert(session, "stuck", lost_key(on));
  insert(session, "stuck", on.key(), 5000);
  // This session counts, too, and may not be taken for the relay.
  session.exec("SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off");
  relay running{on, {"--relay-sweep-interval", "50ms"}};
  eventually(
      "all of them wait", [&] { return count(session, "exception = 'parked'") == 5000; }, time_limit);
  const auto versions = [&] {
    return session.value("SELECT string_agg(ctid::text, ' ' ORDER BY seq) FROM outbox.event");
  };
  const auto before = versions();
  insert(session, "free", on.key(), 100);
  on.await_published(100);
  CHECK(versions().starts_with(before));
  running.stop();
  eventually("the sessions are closed", [&] { return on.relay_sessions() == 0; });
  CHECK(on.rows_read("event_held") < 5000);
}

TEST_CASE("who has forgotten the binding is told so once, and once that events go out again") {
  const stage on;
  auto session = on.connect();
  relay running{on};
  insert(session, "first", lost_key(on));
  running.wait_line("exchange \"outbox\" with routing key \"" + lost_key(on) +
                    "\" does not accept events: returned by the broker: 312 NO_ROUTE (no queue is bound:");
  insert(session, "second", lost_key(on) + ".2");
  eventually("both wait", [&] { return count(session, "last_error_code = 'returned'") == 2; });
  broker{}.bind(on.queue(), "outbox", lost_key(on) + ".#");
  running.wait_line("accepts events again after ");
  on.await_published(2);
  running.stop();
  CHECK(count_lines(running, "no queue is bound") == 1);
  CHECK(count_lines(running, "; 2 events were waiting") == 1);
}

TEST_SUITE("alone") {
  TEST_CASE("an exchange that the relay had to declare is said to have no queue") {
    const stage on;
    broker{}.delete_exchange("outbox");
    {
      relay running{on};
      running.await_connected();
      running.stop();
      CHECK(count_lines(running, "declared the exchange \"outbox\"") == 1);
    }
    relay again{on};
    again.await_connected();
    again.stop();
    CHECK(count_lines(again, "declared the exchange") == 0);
  }
}

}  // namespace outboxd::test::returned_test
