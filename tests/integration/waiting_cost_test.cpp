// What waits costs nothing, and its end costs no statement more than it can bear.
#include <doctest/doctest.h>

#include "login.hpp"
#include "stage.hpp"

namespace outboxd::test {
namespace {

std::int64_t index_reads(database& session, const std::string& index) {
  session.exec("SELECT pg_stat_force_next_flush()");
  return session.number("SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = $1", {index});
}

}  // namespace

TEST_CASE("a sweep reads the events that are due and not the others") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, available_at)"
      " SELECT 'order', g::text, 'later', '{}', now() + interval '1 day' FROM generate_series(1, 20000) AS "
      "g");
  session.exec("SELECT * FROM outbox.sweep(100)");
  const auto before = index_reads(session, "event_due");
  for (int i = 0; i < 10; ++i) session.exec("SELECT * FROM outbox.sweep(100)");
  CHECK(index_reads(session, "event_due") - before < 100);
}

TEST_CASE("a queue longer than one statement releases leaves all the same") {
  const stage on;
  auto session = on.connect();
  session.exec("SELECT outbox.emit('order', 'long', $1, '{}', available_at => now() + interval '3 s')",
               {on.key()});
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', 'long', $1, '{}' FROM generate_series(1, 10500)",
      {on.key()});
  relay running{on, {"--relay-order", "pipelined"}};
  eventually(
      "all wait behind the first",
      [&] { return session.number("SELECT count(*) FROM outbox.event WHERE behind = 1") == 10'500; },
      patience);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 10'501);
  running.stop();
}

TEST_CASE("followers whose event is gone are released, at most so many at once") {
  const stage on;
  auto session = on.connect();
  session.exec("SELECT outbox.emit('order', 'gone', 'e', '{}', available_at => now() + interval '1 day')");
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, behind)"
      " SELECT 'order', 'gone', 'e', '{}', 'waiting', 1 FROM generate_series(1, 5)");
  CHECK(session.number("SELECT outbox.release_orphans(3)") == 0);
  session.exec("DELETE FROM outbox.event WHERE seq = 1");
  CHECK(session.number("SELECT outbox.release_orphans(3)") == 3);
  CHECK(session.number("SELECT max(seq) FROM outbox.event WHERE status = 'pending'") == 4);
  CHECK(session.number("SELECT outbox.release_orphans(3)") == 2);
  CHECK(session.number("SELECT outbox.release_orphans(3)") == 0);
}

TEST_CASE("an event that is claimed behind another travels without payload and headers") {
  const stage on;
  auto session = on.connect();
  session.exec("SELECT outbox.emit('order', 'a', 'e', '{}', available_at => now() + interval '1 day')");
  session.exec("SELECT outbox.emit('order', 'a', 'e', '{\"big\": 1}', '{\"big\": 1}')");
  session.exec("BEGIN");
  session.exec("SELECT outbox.take_shards(64)");
  CHECK(session.number("SELECT count(*) FROM outbox.claimed(10, 1000000)"
                       " WHERE behind = 1 AND payload IS NULL AND headers IS NULL") == 1);
}

TEST_CASE("one aggregate with a long queue does not hold up the shards of others") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', 'hot', $1, '{}' FROM generate_series(1, 3000)",
      {on.key()});
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', g::text, $1, '{}' FROM generate_series(1, 200) AS g",
      {on.key()});
  relay running{on, {"--relay-lanes", "1"}};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  // Those in the shard of the hot aggregate stand behind it, for a shard is read in seq order.
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE aggregate_id = 'hot' AND published_at >"
                       " (SELECT max(published_at) FROM outbox.event WHERE shard <>"
                       " (SELECT min(shard) FROM outbox.event WHERE aggregate_id = 'hot'))") > 0);
  running.stop();
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
  CHECK_THROWS_AS(other.exec("SELECT * FROM public.sweep(1)"), database_error);
}

TEST_CASE("row security that would hide events from the relay is refused and named") {
  const stage on;
  const login user{"outbox_relay"};
  on.connect().exec("ALTER TABLE outbox.event ENABLE ROW LEVEL SECURITY");
  auto variables = on.variables();
  variables["OUTBOXD_DATABASE_URL"] = user.url(on);
  const auto result = run_outboxd({"run"}, variables);
  CHECK(result.exited(1));
  CHECK_MESSAGE(result.says("row-level security"), result.text());
}

}  // namespace outboxd::test
