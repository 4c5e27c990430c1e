// Notifications and the sweep: each is enough alone, both survive their sessions, and an idle relay rests.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>

#include "load.hpp"
#include "partitioned.hpp"
#include "reply_filter.hpp"
#include "stage.hpp"

namespace outboxd::test::doorbell_test {
namespace {

// Ends all sessions of relays; returns how many.
std::int64_t terminate_all(database& session) {
  return session.number(
      "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity"
      " WHERE datname = current_database() AND application_name LIKE 'outboxd % on %'");
}

}  // namespace

TEST_CASE("without the default that rings, events leave by polling") {
  const stage on;
  on.connect().exec("ALTER TABLE outbox.event ALTER tx SET DEFAULT pg_current_xact_id()");
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

TEST_CASE(
    "when the default that rings is changed behind the back of a leader that sleeps, the sweep delivers") {
  const stage on;
  relay running{on};
  for (int i = 0; i < 3; ++i) {
    on.await_asleep();
    on.connect().exec("ALTER TABLE outbox.event ALTER tx SET DEFAULT pg_current_xact_id()");
    on.add_events(2, 50);
    on.await_drained();
  }
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 300);
  running.stop();
}

TEST_CASE("notifications alone deliver when the sweep is half an hour away") {
  const stage on;
  relay running{on, no_sweep};
  on.await_asleep();
  for (int i = 0; i < 20; ++i) {
    on.add_events(1, 3);
    on.await_published(3 * (i + 1));
  }
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE(
    "no wake-up is lost when writers race with a leader that falls asleep, the sweep half an hour away") {
  struct raced_outbox {
    stage on;
    relay first{on, no_sweep};
    relay second{on, no_sweep};
    std::unique_ptr<load> burst = nullptr;
  };
  // Four of them fall asleep at once, each at a moment of its own.
  std::array<raced_outbox, 4> all;
  for (auto& one : all) {
    one.first.await_connected();
    one.second.await_connected();
  }
  // Each round ends in silence: an event that nobody came for would lie there until the next one's
  // notification.
  std::mt19937 random(4711);
  for (int round = 0; round < 25; ++round) {
    for (auto& one : all)
      one.burst = std::make_unique<load>(
          one.on, load_options{.writers = 4, .aggregates = 2, .events = 3, .pause_seconds = 0});
    for (auto& one : all) one.burst->finish();
    for (auto& one : all) one.on.await_drained();
    // Around the moment in which it asks for its lock.
    all[0].on.connect().exec(
        fmt::format("SELECT pg_sleep({})", std::uniform_real_distribution<>(0, 0.35)(random)));
  }
  for (auto& one : all) {
    const auto report = one.on.check_all();
    CHECK_MESSAGE(report.exact(), report.words());
    one.first.stop();
    one.second.stop();
  }
}

TEST_CASE("events that were there before the relay leave without a notification") {
  const stage on;
  on.add_events(2, 100);
  relay running{on, no_sweep};
  on.await_drained();
  running.stop();
}

TEST_CASE("a leader whose session is ended leads again, listens and reads at once") {
  const stage on;
  relay running{on, no_sweep};
  running.await_connected();
  auto session = on.connect();
  for (int i = 0; i < 3; ++i) {
    const auto from = running.lines().size();
    CHECK(session.value("SELECT pg_terminate_backend($1)", {std::to_string(on.await_leader())}) == "t");
    on.add_events(1, 10);  // perhaps while nobody listens: the read after the reconnect has to find them
    running.wait_line("leads shard 0 of 1", time_limit, from);
    on.await_drained();
    on.await_asleep();
    on.add_events(1, 10);  // by notification
    on.await_drained();
  }
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("a leader whose lock session is ended is awake, and sleeps again when it has another one") {
  const stage on;
  relay running{on, no_sweep};
  auto session = on.connect();
  for (int i = 0; i < 3; ++i) {
    on.await_asleep();
    CHECK(
        session.number(
            "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid, 60000)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid IN (SELECT l.pid FROM pg_locks AS l"
            " WHERE l.locktype = 'advisory' AND l.objid = 64 AND l.mode = 'ExclusiveLock' AND l.granted)") ==
        1);
    on.add_events(1, 10);
    on.await_drained();
    on.add_events(1, 10);
    on.await_drained();
  }
  on.await_asleep();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(running.count_lines("leads shard 0") == 1);
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
    CHECK(terminate_all(session) > 0);
    running.wait_line("connected to PostgreSQL", time_limit, from);
  }
  writers.stop();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  running.stop();
}

TEST_CASE("a relay whose notifications are swallowed says so, lives by the sweep, and hears again") {
  const stage on;
  reply_filter proxy;
  proxy.swallow(true);
  relay running{on, {"--relay-sweep-interval", "100ms"}, {{"OUTBOXD_DATABASE_URL", proxy.url(on)}}};
  running.await_connected();
  running.wait_line("notifications do not arrive", time_limit);
  for (int i = 0; i < 3; ++i) {
    on.add_events(2, 10);
    on.await_drained();
  }
  proxy.swallow(false);
  running.wait_line("notifications arrive again", time_limit);
  CHECK(running.count_lines("notifications do not arrive") == 1);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

// A server process that is told of more as fast as it sends what there is reads no command.
TEST_CASE("a relay that gets notifications and no answers goes on without them, and listens again later") {
  const stage on;
  reply_filter proxy;
  proxy.drown(true);
  relay running{on, {}, {{"OUTBOXD_DATABASE_URL", proxy.url(on)}}};
  std::size_t seen = 0;
  for (int times = 0; times < 2; ++times) {
    running.wait_line("notifications and no answer", time_limit, seen);
    seen = running.lines().size();
    on.add_events(2, 10);
    on.await_drained();
  }
  proxy.drown(false);
  on.add_events(2, 10);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  on.await_asleep();
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

namespace {

void check_idle_reads(const stage& on) {
  constexpr auto interval = 20ms;
  auto session = on.connect();
  stop_autovacuum(session);
  const auto begin = steady_clock::now();
  relay running{on, {"--relay-sweep-interval", "20ms"}};
  running.await_connected();
  on.await_asleep();
  // A read looks twice into this index: for what is new, and for the highest seq; at most into that of each
  // partition.
  const auto looks = 2 * std::max<std::int64_t>(1, attached_partitions(session));
  constexpr int before_sleep = 200;  // reads in the quarter of a second in which it polls, and of some sweeps
  eventually(
      "it has swept for a while", [&] { return on.index_scans() >= looks * 2 * before_sleep; },
      2 * time_limit);
  running.stop();
  eventually("the sessions are closed", [&] { return on.relay_sessions() == 0; });
  const auto intervals = (steady_clock::now() - begin) / interval;
  CHECK(on.index_scans() <= looks * (intervals + before_sleep));
}

}  // namespace

TEST_CASE("an idle relay reads once per sweep interval") {
  check_idle_reads(unpartitioned_stage{});
}

TEST_CASE("an idle relay of a partitioned outbox reads once per sweep interval, too") {
  check_idle_reads(partitioned_stage{});
}

}  // namespace outboxd::test::doorbell_test
