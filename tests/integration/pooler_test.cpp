// A pooler between the relay and PostgreSQL: whatever it does to sessions, the guarantees hold.
#include "pooler.hpp"

#include <doctest/doctest.h>

#include "load.hpp"

namespace outboxd::test {
namespace {

constexpr auto deaf = "notifications do not arrive through a connection pooler in transaction mode";

environment through(const pooler& pool, const stage& on) {
  return {{"OUTBOXD_DATABASE_URL", pool.url(on)}};
}

bool says(const relay& which, const std::string& words) {
  const auto lines = which.lines();
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("through a pooler in transaction mode the sweep delivers, and the relay says what it lacks") {
  const stage on;
  pooler pool{"transaction"};
  relay running{on, {"--relay-sweep-interval", "100ms"}, through(pool, on)};
  running.await_connected();
  running.wait_line(deaf, patience);
  for (int i = 0; i < 3; ++i) {
    on.add_events(2, 50);
    on.await_drained();
  }
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("large events among small ones go through a pooler in transaction mode") {
  const stage on;
  pooler pool{"transaction"};
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'file', n % 7, $1, jsonb_build_object('n', n, 'text', repeat('x', CASE WHEN n % 40 = 0 THEN "
      "50000 ELSE 1 END))"
      " FROM generate_series(1, 200) AS n",
      {on.key()});
  relay running{on, {"--relay-batch-bytes", "100kB", "--relay-sweep-interval", "100ms"}, through(pool, on)};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 200);
  running.stop();
}

TEST_CASE("two relays behind a pooler in transaction mode keep order and count under load") {
  const stage on;
  pooler pool{"transaction"};
  const arguments busy{"--relay-batch", "20", "--relay-lanes", "3", "--relay-sweep-interval", "50ms"};
  relay first{on, busy, through(pool, on)};
  relay second{on, busy, through(pool, on)};
  first.await_connected();
  second.await_connected();
  load writers{on, {.writers = 3, .aggregates = 20}};
  on.await_published(3000);
  writers.stop();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  first.stop();
  second.stop();
  eventually("no lock is left", [&] { return on.advisory_locks() == 0; });
}

TEST_CASE("a relay killed behind a pooler in transaction mode frees its claims") {
  const stage on;
  pooler pool{"transaction"};
  on.add_events(200, 50);
  {
    relay doomed{on, {"--relay-batch", "20"}, through(pool, on)};
    on.await_published(500);
    doomed.send(SIGKILL);
  }
  relay heir{on, {}, through(pool, on)};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  heir.stop();
}

TEST_CASE("the relay leaves nothing of its own in the sessions of a pool") {
  const stage on;
  pooler pool{"transaction"};
  relay running{on, {}, through(pool, on)};
  on.add_events(2, 50);
  on.await_drained();
  running.stop();
  // The pool hands out its sessions in turn, whoever asks.
  std::vector<database> clients;
  for (int i = 0; i < 5; ++i) {
    auto& client = clients.emplace_back(pool.url(on));
    client.exec("BEGIN");  // keeps the session
    for (const auto* setting : {"synchronous_commit", "enable_seqscan", "row_security"}) {
      CAPTURE(setting);
      CHECK(client.value(fmt::format("SHOW {}", setting)) == "on");
    }
    CHECK(client.number("SELECT count(*) FROM pg_prepared_statements") == 0);
    CHECK(client.number("SELECT count(*) FROM pg_listening_channels() AS c WHERE c = 'outbox'") == 0);
  }
}

TEST_CASE("through a pooler in session mode notifications are found to arrive, and deliver") {
  const stage on;
  pooler pool{"session"};
  relay running{on, {"--relay-sweep-interval", "1h"}, through(pool, on)};
  running.await_connected();
  auto session = on.connect();
  eventually(
      "the relay listens to the outbox",
      [&] {
        return session.number(
                   "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                   " AND query = 'LISTEN \"outbox\"'") == 1;
      },
      patience);
  for (int i = 0; i < 10; ++i) {
    on.add_events(1, 3);
    on.await_published(3 * (i + 1));
  }
  CHECK_FALSE(says(running, "notifications do not arrive"));
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("a pooler in statement mode, which allows no transaction, is named and waited for") {
  const stage on;
  on.add_events(3);
  pooler pool{"statement"};
  relay running{on, {}, through(pool, on)};
  running.wait_line("statement pooling mode", patience);
  CHECK(running.running());
  CHECK(on.count("pending") == 3);
  running.stop();
}

}  // namespace outboxd::test
