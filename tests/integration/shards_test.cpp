// More shards than one: relays share them out, each aggregate keeps its order, and their number can grow
// beside a relay.
#include <doctest/doctest.h>

#include <map>
#include <memory>

#include "load.hpp"
#include "stage.hpp"

namespace outboxd::test::shards_test {
namespace {

program_result migrate(const stage& on, const std::string& shards) {
  return run_outboxd({"migrate", "--shards", shards}, on.variables());
}

environment named(const std::string& name) {
  return {{"PGAPPNAME", name}};
}

// How many shards each relay leads, by its application_name.
std::map<std::string, int> shares(const stage& on) {
  std::map<std::string, int> out;
  for (const auto& row : on.connect().exec("SELECT a.application_name, count(*) FROM pg_locks AS l JOIN "
                                           "pg_stat_activity AS a ON a.pid = l.pid"
                                           " WHERE a.datname = current_database() AND l.locktype = "
                                           "'advisory' AND l.objsubid = 2 AND l.objid < 64"
                                           " AND l.granted AND l.mode = 'ExclusiveLock' AND "
                                           "a.application_name NOT LIKE 'outboxd %' GROUP BY 1"))
    out[*row[0]] = std::stoi(*row[1]);
  return out;
}

void await_shares(const stage& on, const std::map<std::string, int>& wanted) {
  eventually(
      "the shards are shared out", [&] { return shares(on) == wanted; }, time_limit);
}

void check_exact(const stage& on) {
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
}

}  // namespace

TEST_CASE("a number of shards that is no power of two up to 64 is refused, and so are fewer than there are") {
  const stage on;
  for (const char* bad : {"0", "3", "128", "-1", "many"}) {
    const auto refused = migrate(on, bad);
    CHECK_MESSAGE(refused.exited(2), refused.text());
    CHECK_MESSAGE(refused.says("--shards"), refused.text());
  }
  CHECK(migrate(on, "4").exited(0));
  CHECK(migrate(on, "4").exited(0));
  const auto fewer = migrate(on, "2");
  CHECK_MESSAGE(fewer.exited(1), fewer.text());
  CHECK_MESSAGE(fewer.says("has 4 shards already"), fewer.text());
  CHECK(run_outboxd({"migrate"}, on.variables()).exited(0));  // what is there stays
  CHECK(on.connect().number("SELECT count(*) FROM outbox.shard") == 4);
}

TEST_CASE("shards are added beside a relay under load, and order and count hold") {
  const stage on;
  load writers{on};
  relay running{on};
  on.await_published(300);
  for (const int shards : {4, 16}) {
    const auto lines = running.lines().size();
    const auto done = migrate(on, std::to_string(shards));
    CHECK_MESSAGE(done.exited(0), done.text());
    eventually(
        "all shards are led", [&] { return on.shards_led() == shards; }, time_limit);
    running.wait_line(fmt::format(" of {}", shards), time_limit, lines);
    on.await_published(on.count("published") + 300);
  }
  writers.stop();
  check_exact(on);
  running.stop();
  CHECK(on.shards_led() == 0);
}

TEST_CASE(
    "what is old, waits, is dead or has been read is relayed after shards were added, without a relay") {
  const stage on;
  {
    relay running{on};
    on.add_events(5, 50);
    on.connect().exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
        " SELECT 'order', n, $1, '{}' FROM generate_series(1, 20) AS n",
        {"unbound-" + on.queue()});
    on.add_events(5, 50);
    eventually(
        "some wait", [&] { return on.count("waiting") == 20 * 6 && on.count("pending") == 0; }, time_limit);
    running.stop();
  }
  on.add_events(5, 50);
  CHECK(migrate(on, "8").exited(0));
  relay running{on};
  broker{}.bind(on.queue(), "outbox", "unbound-" + on.queue());
  on.connect().exec("UPDATE outbox.event SET available_at = now() WHERE exception = 'backing_off'");
  check_exact(on);
  running.stop();
}

TEST_CASE("two relays share four shards evenly, and who is left takes them all") {
  const stage on;
  REQUIRE(migrate(on, "4").exited(0));
  load writers{on};
  relay first{on, {}, named("first")};
  await_shares(on, {{"first", 4}});
  {
    relay second{on, {}, named("second")};
    await_shares(on, {{"first", 2}, {"second", 2}});
    on.await_published(on.count("published") + 300);
    second.stop();
  }
  await_shares(on, {{"first", 4}});
  writers.stop();
  check_exact(on);
  first.stop();
}

TEST_CASE("a relay that is killed leaves its shards to the others") {
  const stage on;
  REQUIRE(migrate(on, "4").exited(0));
  load writers{on};
  relay first{on, {}, named("first")};
  relay second{on, {}, named("second")};
  await_shares(on, {{"first", 2}, {"second", 2}});
  on.await_published(500);
  first.send(SIGKILL);
  await_shares(on, {{"second", 4}});
  on.await_published(on.count("published") + 300);
  writers.stop();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  second.stop();
}

TEST_CASE("relays that come and go between shards disturb neither order nor count") {
  const stage on;
  REQUIRE(migrate(on, "8").exited(0));
  load writers{on, {.writers = 3, .aggregates = 40}};
  relay resident{on, {"--relay-batch", "50"}, named("resident")};
  for (int i = 0; i < 3; ++i) {
    relay guest{on, {"--relay-batch", "50"}, named("guest")};
    await_shares(on, {{"guest", 4}, {"resident", 4}});
    on.await_published(on.count("published") + 300);
    guest.stop();
  }
  writers.stop();
  check_exact(on);
  resident.stop();
}

TEST_CASE("each leader of a shard sleeps and is rung by itself") {
  const stage on;
  REQUIRE(migrate(on, "2").exited(0));
  relay running{on, no_sweep};
  on.await_asleep(0);
  on.await_asleep(1);
  for (int i = 1; i <= 20; ++i) {
    on.connect().exec("SELECT outbox.emit('order', $1, $2, '{}')", {std::to_string(i), on.key()});
    on.await_published(i);
  }
  check_exact(on);
  running.stop();
}

}  // namespace outboxd::test::shards_test
