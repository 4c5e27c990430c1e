// Notifications and the sweep: each is enough alone, both survive their sessions, and an idle relay rests.
#include <doctest/doctest.h>

#include <algorithm>

#include "load.hpp"
#include "notification_filter.hpp"
#include "stage.hpp"

namespace outboxd::test {
namespace {

const arguments no_sweep{"--relay-sweep-interval", "1h"};

// Ends sessions of relays whose last statement matches this; returns how many.
std::int64_t terminate(database& session, const std::string& last_statement) {
  return session.number(
      "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity"
      " WHERE datname = current_database() AND application_name = 'outboxd' AND query ~ $1",
      {last_statement});
}

}  // namespace

TEST_CASE("the sweep alone delivers when the trigger is dropped") {
  const stage on;
  on.connect().exec("DROP TRIGGER event_doorbell ON outbox.event");
  relay running{on};
  running.await_connected();
  for (int i = 0; i < 3; ++i) {
    on.add_events(2, 50);
    on.await_drained();
  }
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 300);
  running.stop();
}

TEST_CASE("notifications alone deliver when the sweep is an hour away") {
  const stage on;
  relay running{on, no_sweep};
  running.await_connected();
  for (int i = 0; i < 20; ++i) {
    on.add_events(1, 3);
    on.await_published(3 * (i + 1));
  }
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("no wake-up is lost when writers and lanes race with the sweep an hour away") {
  const stage on;
  relay first{on, no_sweep};
  relay second{on, no_sweep};
  first.await_connected();
  second.await_connected();
  // Each round ends in silence: an event that nobody came for would lie there until the next one's notification.
  for (int round = 0; round < 150; ++round) {
    load burst{on, {.writers = 4, .aggregates = 2, .events = 3, .pause_seconds = 0}};
    burst.finish();
    on.await_drained();
  }
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  first.stop();
  second.stop();
}

TEST_CASE("events that were there before the relay leave without a notification") {
  const stage on;
  on.add_events(2, 100);
  relay running{on, no_sweep};
  on.await_drained();
  running.stop();
}

TEST_CASE("a relay whose listening session is ended listens again and looks at once") {
  const stage on;
  relay running{on, no_sweep};
  running.await_connected();
  auto session = on.connect();
  for (int i = 0; i < 3; ++i) {
    const auto from = running.lines().size();
    CHECK(terminate(session, "sweep|outboxd_probe") == 1);
    on.add_events(1, 10);  // perhaps while nobody listens: the sweep after the reconnect has to find them
    running.wait_line("connected to PostgreSQL", patience, from);
    on.await_drained();
    on.add_events(1, 10);  // by notification
    on.await_drained();
  }
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("a relay whose every session is ended again and again under load loses nothing") {
  const stage on;
  relay running{on, {"--relay-batch", "50"}};
  running.await_connected();
  load writers{on};
  auto session = on.connect();
  for (int i = 0; i < 5; ++i) {
    on.await_published(on.count("published") + 100);
    const auto from = running.lines().size();
    CHECK(terminate(session, "") > 0);
    running.wait_line("connected to PostgreSQL", patience, from);
  }
  writers.stop();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  running.stop();
}

TEST_CASE("a relay whose notifications are swallowed says so, lives by the sweep, and hears again") {
  const stage on;
  notification_filter proxy;
  proxy.swallow(true);
  relay running{on, {"--relay-sweep-interval", "100ms"}, {{"OUTBOXD_DATABASE_URL", proxy.url(on)}}};
  running.await_connected();
  running.wait_line("notifications do not arrive", patience);
  for (int i = 0; i < 3; ++i) {
    on.add_events(2, 10);
    on.await_drained();
  }
  proxy.swallow(false);
  running.wait_line("notifications arrive again", patience);
  const auto lines = running.lines();
  CHECK(std::count_if(lines.begin(), lines.end(), [](const std::string& line) {
          return line.find("notifications do not arrive") != std::string::npos;
        }) == 1);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("a flood of forged notifications harms nothing") {
  const stage on;
  relay running{on};
  running.await_connected();
  on.connect().exec("SELECT pg_notify('outbox', n::text) FROM generate_series(1, 100000) AS n");
  on.add_events(1, 100);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("an idle relay sweeps once per interval and claims nothing") {
  constexpr auto interval = 50ms;
  constexpr int lanes = 4;
  const stage on;
  auto session = on.connect();
  session.exec(fmt::format("ALTER DATABASE {} SET track_functions = 'pl'", on.database_name()));
  const auto calls = [&](const std::string& function) {
    return session.number("SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = $1",
                          {function});
  };
  const auto begin = steady_clock::now();
  relay running{on, {"--relay-sweep-interval", "50ms", "--relay-lanes", std::to_string(lanes)}};
  running.await_connected();
  eventually(
      "40 sweeps are counted", [&] { return calls("sweep") >= 40; }, patience);
  const auto intervals = (steady_clock::now() - begin) / interval;
  CHECK(calls("sweep") <= intervals + 2);
  running.stop();
  // A session reports its calls at its end at the latest. Each lane tries the function and looks once when it comes up;
  // the doorbell rings without a session if it needs longer than an interval to come up.
  eventually("the sessions are closed", [&] { return on.relay_sessions() == 0; });
  CHECK(calls("claim") <= 3 * lanes);
}

}  // namespace outboxd::test
