// Events with an available_at in the future wait, cost nothing, and leave when they are due, their aggregate behind them.
#include <doctest/doctest.h>

#include "stage.hpp"

namespace outboxd::test {

TEST_CASE("a scheduled event leaves when it is due and its aggregate follows in order") {
  const stage on;
  auto session = on.connect();
  relay running{on};
  running.await_connected();
  const auto emit = [&](const std::string& aggregate, const std::string& delay) {
    session.exec("SELECT outbox.emit('order', $1, $2, '{}', available_at => now() + $3::interval)",
                 {aggregate, on.key(), delay});
  };
  const auto count = [&](const std::string& condition) {
    return session.number("SELECT count(*) FROM outbox.event WHERE " + condition);
  };
  emit("later", "3 s");
  CHECK(count("aggregate_id = 'later' AND status = 'waiting' AND attempts = 0") == 1);
  emit("later", "0 s");
  emit("later", "0 s");
  emit("now", "0 s");
  eventually("the other aggregate has left",
             [&] { return count("aggregate_id = 'now' AND status = 'published'") == 1; });
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 4);
  CHECK(count("aggregate_id = 'later' AND published_at < (SELECT max(available_at) FROM outbox.event)") == 0);
  CHECK(count("attempts > 0 OR behind IS NOT NULL OR last_error IS NOT NULL") == 0);
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
  CHECK(on.count("waiting") == 2);
  session.exec("UPDATE outbox.event SET available_at = now() WHERE status = 'waiting'");
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("an event that is never due stops nobody") {
  const stage on;
  relay running{on};
  running.await_connected();
  on.connect().exec("SELECT outbox.emit('never', '1', $1, '{}', available_at => 'infinity')", {on.key()});
  const auto from = running.lines().size();
  on.connect().exec("DROP TRIGGER event_doorbell ON outbox.event");  // so that the sweep has to do it
  on.add_events(1, 3);
  on.await_published(3);
  CHECK(on.count("waiting") == 1);
  running.stop();
  CHECK_MESSAGE(running.all_lines().size() <= from + 3,
                running.tail());  // stopping, stopped: no session was lost
}

TEST_CASE("followers of a scheduled event that is deleted go on") {
  const stage on;
  auto session = on.connect();
  relay running{on};
  session.exec("SELECT outbox.emit('order', '1', $1, '{}', available_at => now() + interval '1 year')",
               {on.key()});
  session.exec("SELECT outbox.emit('order', '1', $1, '{}')", {on.key()});
  eventually("the follower waits", [&] { return on.count("waiting") == 2; });
  session.exec("DELETE FROM outbox.event WHERE available_at > now()");
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 1);
  running.stop();
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
  CHECK(on.count("waiting") == 100'000);
  running.stop();
}

}  // namespace outboxd::test
