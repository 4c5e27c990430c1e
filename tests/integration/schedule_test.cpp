// Events with an available_at in the future wait, cost nothing, hold back nobody, and leave when they are
// due.
#include <doctest/doctest.h>

#include "stage.hpp"

namespace outboxd::test::schedule_test {
namespace {

// So that a schedule may be shorter than clocks differ.
const environment exact_clocks{{"OUTBOXD_RELAY_CLOCK_TOLERANCE", "0s"}};

}  // namespace

TEST_CASE("a scheduled event leaves when it is due, and later ones of its aggregate do not wait for it") {
  const stage on;
  auto session = on.connect();
  relay running{on, {}, exact_clocks};
  running.await_connected();
  const auto emit = [&](const std::string& aggregate, const std::string& delay) {
    session.exec("SELECT outbox.emit('order', $1, $2, '{}', available_at => now() + $3::interval)",
                 {aggregate, on.key(delay == "0 s" ? "event" : "scheduled"), delay});
  };
  const auto count = [&](const std::string& condition) {
    return session.number("SELECT count(*) FROM outbox.event WHERE " + condition);
  };
  emit("later", "1 h");
  emit("later", "0 s");
  emit("later", "0 s");
  emit("now", "0 s");
  on.await_published(3);
  eventually(
      "it is set aside",
      [&] {
        return count(
                   "aggregate_id = 'later' AND status = 'waiting' AND exception = 'scheduled'"
                   " AND attempts = 0") == 1;
      },
      time_limit);
  session.exec(
      "UPDATE outbox.event SET available_at = clock_timestamp() + interval '1 s' WHERE status = 'waiting'");
  emit("soon", "2 s");
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 5);
  const auto scheduled = "aggregate_id = 'later' AND seq = (SELECT min(seq) FROM outbox.event)";
  CHECK(count("published_at < available_at") == 0);
  CHECK(count(fmt::format("NOT ({}) AND aggregate_id <> 'soon' AND published_at > (SELECT max(available_at) "
                          "FROM outbox.event)",
                          scheduled)) == 0);
  CHECK(count("attempts > 0 OR exception IS NOT NULL OR last_error IS NOT NULL") == 0);
  running.stop();
}

TEST_CASE("a scheduled event that is due waits behind an earlier one of its aggregate that backs off") {
  const stage on;
  auto session = on.connect();
  relay running{on, {}, exact_clocks};
  session.exec("SELECT outbox.emit('order', '1', $1, '{}')", {"unbound-" + on.queue()});
  const auto count = [&](const std::string& condition) {
    return session.number("SELECT count(*) FROM outbox.event WHERE " + condition);
  };
  eventually(
      "the first one backs off", [&] { return count("exception = 'backing_off'") == 1; }, time_limit);
  session.exec("SELECT outbox.emit('order', '1', $1, '{}', available_at => now() + interval '200 ms')",
               {on.key()});
  eventually(
      "the other one is due and waits behind it", [&] { return count("exception = 'parked'") == 1; },
      time_limit);
  broker{}.bind(on.queue(), "outbox", "unbound-" + on.queue());
  session.exec("UPDATE outbox.event SET available_at = now() WHERE exception = 'backing_off'");
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 2);
  running.stop();
}

TEST_CASE("an event that is made due by hand leaves at the next sweep") {
  const stage on;
  auto session = on.connect();
  relay running{on};
  running.await_connected();
  session.exec("SELECT outbox.emit('later', '1', $1, '{}', available_at => 'infinity')", {on.key()});
  session.exec("SELECT outbox.emit('later', '2', $1, '{}', available_at => now() + interval '1 year')",
               {on.key()});
  on.add_events(1, 3);
  on.await_published(3);
  eventually(
      "they are set aside", [&] { return on.count("waiting") == 2; }, time_limit);
  session.exec("UPDATE outbox.event SET available_at = now() WHERE status = 'waiting'");
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("an event that was due when it was created goes out at once, also after the clock was set back") {
  const stage on;
  auto session = on.connect();
  relay running{on};
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, created_at, available_at)"
      " VALUES ('order', '1', $1, '{}', now() + interval '1 h', now() + interval '1 h')",
      {on.key()});
  session.exec("SELECT outbox.emit('order', '1', $1, '{}')", {on.key()});
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 2);
  running.stop();
}

TEST_CASE("an application's clock that is ahead turns no aggregate around") {
  const stage on;
  auto session = on.connect();
  relay running{on};
  running.await_connected();
  // Of each pair the first event has its time from a clock that is ahead, the second one from PostgreSQL's.
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, available_at)"
      " SELECT 'order', (n / 2)::text, $1, '{}', now() + (n + 1) % 2 * interval '4900 ms'"
      " FROM generate_series(0, 1999) AS n",
      {on.key()});
  on.await_published(2000);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE(
    "what is due later than relay.clock_tolerance is a schedule, and so is no time that PostgreSQL has") {
  const stage on;
  auto session = on.connect();
  session.exec("SELECT outbox.emit('order', '1', $1, '{}', available_at => now() + interval '1 h')",
               {on.key()});
  // Nothing is later than this by 5 s; and this is earlier than nothing.
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, created_at, available_at)"
      " VALUES ('order', '2', $1, '{}', '294276-12-31 23:59:59', 'infinity'),"
      " ('order', '3', $1, '{}', '294276-12-31 23:59:58', '294276-12-31 23:59:59'),"
      " ('order', '4', $1, '{}', '-infinity', '4714-11-24 00:00:00 BC'),"
      " ('order', '5', $1, '{}', '4714-11-24 00:00:00 BC', '-infinity')",
      {on.key()});
  relay usual{on};
  on.await_published(3);
  eventually("the others are set aside", [&] { return on.count("waiting") == 2; });
  usual.stop();
  session.exec("SELECT outbox.emit('order', '1', $1, '{}', available_at => now() + interval '30 s')",
               {on.key()});
  relay tolerant{on, {}, {{"OUTBOXD_RELAY_CLOCK_TOLERANCE", "1m"}}};
  on.await_published(4);
  tolerant.stop();
}

TEST_CASE("an event that is never due stops nobody") {
  const stage on;
  auto session = on.connect();
  const auto runs_well = [&](const auto& what_it_does) {
    relay running{on, {}, exact_clocks};
    running.await_connected();
    const auto from = running.lines().size();
    what_it_does();
    running.stop();
    CHECK_MESSAGE(running.all_lines().size() <= from + 3,
                  running.tail());  // leading, stopping, stopped: no session was lost
  };
  runs_well([&] {
    session.exec("SELECT outbox.emit('never', '1', $1, '{}', available_at => 'infinity')", {on.key()});
    // When this one is due, the leader asks for the next one.
    session.exec("SELECT outbox.emit('soon', '1', $1, '{}', available_at => now() + interval '100 ms')",
                 {on.key()});
    on.await_published(1);
    on.await_asleep();
    // So that the sweep has to do it.
    session.exec("ALTER TABLE outbox.event ALTER tx SET DEFAULT pg_current_xact_id()");
    on.add_events(1, 3);
    on.await_published(4);
  });
  // And so does who takes the lead.
  runs_well([&] {
    on.add_events(1, 3);
    on.await_published(7);
  });
  CHECK(on.count("waiting") == 1);
}

TEST_CASE("a hundred thousand scheduled events hold up nobody") {
  const stage on;
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, available_at)"
      " SELECT 'order', n, $1, '{}', now() + interval '1 year' FROM generate_series(1, 100000) AS n",
      {on.key()});
  relay running{on};
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'invoice', n, $1, '{}' FROM generate_series(1, 2000) AS n",
      {on.key()});
  on.await_published(2000);
  eventually(
      "all are set aside", [&] { return on.count("waiting") == 100'000; }, time_limit);
  running.stop();
}

}  // namespace outboxd::test::schedule_test
