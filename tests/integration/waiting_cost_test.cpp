// What waits costs nothing, and its end costs no statement more than it can bear.
#include <doctest/doctest.h>

#include "login.hpp"
#include "partitioned.hpp"
#include "stage.hpp"

namespace outboxd::test::waiting_cost_test {
namespace {

// What relays have read through all indexes of the table; exact when they have ended.
std::int64_t rows_read(const stage& on) {
  eventually("the sessions are closed", [&] { return on.relay_sessions() == 0; });
  return on.ask("SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname ~ '^event(_p[0-9]+)?$'");
}

void add_parked(const stage& on, int count) {
  auto session = on.connect();
  session.exec("SELECT outbox.emit('order', 'stuck', $1, '{}')", {"unbound-" + on.queue()});
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', 'stuck', $1, '{}' FROM generate_series(1, $2::int)",
      {on.key(), std::to_string(count)});
}

// Each in a transaction of its own, so that each costs a read.
void relay_single_events(const stage& on, int count) {
  auto session = on.connect();
  const auto before = on.count("published");
  for (int i = 0; i < count; ++i)
    session.exec("SELECT outbox.emit('order', $1, $2, '{}')", {std::to_string(i % 20), on.key()});
  on.await_published(before + count);
}

}  // namespace

TEST_CASE("a hundred thousand scheduled events and as many behind a stuck one are not read for the others") {
  constexpr int many = 100'000;
  const stage on;
  auto session = on.connect();
  stop_autovacuum(session);
  // This session counts, too, and may not be taken for the relay.
  session.exec("SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off");
  add_parked(on, many);
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, available_at)"
      " SELECT 'order', n % 20, $1, '{}', now() + interval '1 day' FROM generate_series(1, $2::int) AS n",
      {on.key(), std::to_string(many)});
  {
    relay first{on};
    eventually(
        "all of them are parked or set aside",
        [&] {
          return session.number(
                     "SELECT count(*) FROM outbox.event WHERE exception IN ('parked', 'scheduled')") ==
                 2 * many;
        },
        time_limit);
    first.stop();
  }
  const auto before = rows_read(on);
  constexpr int singles = 500;
  relay second{on};
  relay_single_events(on, singles);
  second.stop();
  const auto after = rows_read(on);
  CAPTURE(after - before);
  CHECK(after - before < many / 2);
  CHECK(on.count("waiting") == 2 * many + 1);
}

TEST_CASE("a long queue behind a stuck event leaves in order when that does, many at a time") {
  constexpr int many = 3'000;
  const stage on;
  auto session = on.connect();
  add_parked(on, many);
  relay running{on};
  eventually(
      "all of them are parked",
      [&] { return session.number("SELECT count(*) FROM outbox.event WHERE exception = 'parked'") == many; },
      time_limit);
  broker{}.bind(on.queue(), "outbox", "unbound-" + on.queue());
  session.exec("UPDATE outbox.event SET available_at = now() WHERE exception = 'backing_off'");
  relay_single_events(on, 100);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == many + 101);
  running.stop();
}

TEST_CASE("followers whose event is deleted by hand go on") {
  const stage on;
  auto session = on.connect();
  relay running{on};
  add_parked(on, 500);
  eventually(
      "all of them are parked",
      [&] { return session.number("SELECT count(*) FROM outbox.event WHERE exception = 'parked'") == 500; },
      time_limit);
  session.exec("DELETE FROM outbox.event WHERE exception = 'backing_off'");
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 500);
  running.stop();
}

TEST_CASE("one aggregate with a long queue does not hold up the others") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', 'hot', $1, '{}' FROM generate_series(1, 5000)",
      {on.key()});
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', g::text, $1, '{}' FROM generate_series(1, 200) AS g",
      {on.key()});
  relay running{on, {"--relay-lanes", "1"}};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE aggregate_id = 'hot' AND published_at >"
                       " (SELECT max(published_at) FROM outbox.event WHERE aggregate_id <> 'hot')") > 0);
  running.stop();
}

TEST_CASE("an event of an aggregate with a long queue is written once, in either order") {
  for (const char* order : {"strict", "pipelined"}) {
    CAPTURE(order);
    const stage on;
    auto session = on.connect();
    session.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
        " SELECT 'order', CASE WHEN n % 5 = 0 THEN 'other ' || n ELSE 'hot' END, $1, '{}'"
        " FROM generate_series(1, 5000) AS n",
        {on.key()});
    relay running{on, {"--relay-order", order}};
    const auto report = on.check_all();
    CHECK_MESSAGE(report.exact(), report.words());
    running.stop();
    eventually("the sessions are closed", [&] { return on.relay_sessions() == 0; });
    CHECK(on.ask("SELECT n_tup_upd FROM pg_stat_user_tables WHERE relid = 'outbox.event'::regclass") == 5000);
  }
}

TEST_CASE("migrate leaves the application's functions in its schema alone") {
  const stage_options unmigrated{.migrated = false};
  const stage on{unmigrated};
  auto session = on.connect();
  session.exec("CREATE FUNCTION public.mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'");
  REQUIRE(run_outboxd({"migrate", "--schema", "public"}, on.variables()).exited(0));
  const login somebody{""};
  database other{somebody.url(on)};
  CHECK(other.number("SELECT public.mine()") == 1);
  CHECK_THROWS_AS(other.exec("SELECT public.replay('{}')"), database_error);
}

TEST_CASE("row security that would hide events from the relay is refused and named") {
  const stage on;
  const login user{"outbox_relay"};
  on.connect().exec("ALTER TABLE outbox.event ENABLE ROW LEVEL SECURITY");
  auto variables = on.variables();
  variables["OUTBOXD_DATABASE_URL"] = user.url(on);
  const auto result = run_outboxd({"run"}, variables);
  CHECK(result.exited(1));
  CHECK_MESSAGE(result.says("row-level security on outbox.event hides rows from user"), result.text());
}

}  // namespace outboxd::test::waiting_cost_test
