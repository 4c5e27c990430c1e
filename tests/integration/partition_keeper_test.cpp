// The relay that leads begins partitions, and drops those in which nothing is left to be kept; nobody waits
// for it.
#include <doctest/doctest.h>

#include <future>
#include <set>

#include "asked_relay.hpp"
#include "load.hpp"
#include "login.hpp"
#include "partitioned.hpp"
#include "settings_file.hpp"

namespace outboxd::test::partition_keeper_test {
namespace {

/// A drop that does not get its lock, as on a machine that stalls beside writers, is tried again after a
/// minute.
const auto drop_time_limit = 2 * time_limit;

/// What is published was published eight days ago, and every partition but the latest began then.
void make_old(database& session) {
  session.exec(
      "UPDATE outbox.event SET created_at = now() - interval '8 d', published_at = now() - interval '8 d'"
      " WHERE status = 'published'");
  session.exec(
      "UPDATE outbox.event_partition SET began_at = began_at - interval '9 d' WHERE began_at IS NOT NULL");
}

bool is_there(database& session, const std::string& part) {
  return session.value(fmt::format("SELECT to_regclass('outbox.{}') IS NOT NULL", part)) == "t";
}

}  // namespace

TEST_CASE("the relay that leads begins periods, also when nothing is ever deleted") {
  const partitioned_stage on;
  auto session = on.connect();
  on.add_events(1);
  age_partitions(session, "25 h");
  const login user{"outbox_relay"};
  relay running{on, {"--retention-published", "never"}, {{"OUTBOXD_DATABASE_URL", user.url(on)}}};
  running.wait_line("partition event_p2 begins", time_limit);
  running.wait_line("partition event_p4 is ready", time_limit);
  on.add_events(1);
  on.await_drained();
  CHECK(session.number("SELECT max(seq) FROM outbox.event") == 2 * partition_width);
  running.stop();
}

TEST_CASE(
    "a name that is taken is left out, and a partition detached by hand is left alone, and the log says so") {
  const partitioned_stage on;
  auto session = on.connect();
  session.exec(
      "CREATE TABLE outbox.event_p4 (mine int); ALTER TABLE outbox.event DETACH PARTITION outbox.event_p0");
  on.add_events(1);
  age_partitions(session, "25 h");
  relay running{on};
  running.wait_line("partition event_p0 was detached by hand, and is left alone", time_limit);
  running.wait_line("cannot create partition event_p4: a table event_p4 already exists", time_limit);
  running.wait_line("partition event_p5 is ready", time_limit);
  CHECK(session.value("SELECT to_regclass('outbox.event_p0')") == "outbox.event_p0");
  CHECK(session.number("SELECT count(*) FROM outbox.event_p4") == 0);
  running.stop();
}

TEST_CASE("a partition of old published events is dropped, by outbox_relay, and a young one stays") {
  const partitioned_stage on;
  auto session = on.connect();
  {
    relay running{on};
    on.add_events(50, 20);
    on.await_drained();
    running.stop();
  }
  make_old(session);
  rotate_partition(session);
  on.add_events(5, 20);
  session.exec("UPDATE outbox.event_partition SET began_at = now() - interval '8 d' WHERE number = 2");
  const login user{"outbox_relay"};
  asked_relay running{on, {"--database-url", user.url(on)}};
  eventually(
      "it is dropped", [&] { return !is_there(session, "event_p0") && !is_there(session, "event_p1"); },
      drop_time_limit);
  running.wait_line("retention.published: 2 partitions dropped", drop_time_limit);
  on.await_drained();
  CHECK(on.count("published") == 100);
  CHECK(running.get("/metrics").body.find("outboxd_pruned_total{what=\"partitions\"} 2") !=
        std::string::npos);
  CHECK(session.number("SELECT count(*) FROM outbox.event_partition WHERE number < 2") == 0);
  running.stop();
}

TEST_CASE("a partition with an event that is not finished stays, and the rest of it goes row by row") {
  const partitioned_stage on;
  auto session = on.connect();
  {
    relay running{on};
    on.add_events(50, 20);
    on.await_drained();
    running.stop();
  }
  session.exec(
      "UPDATE outbox.event SET status = 'dead' WHERE seq = (SELECT min(seq) + 500 FROM outbox.event)");
  make_old(session);
  rotate_partition(session);
  on.add_events(5, 20);
  session.exec("UPDATE outbox.event_partition SET began_at = now() - interval '8 d' WHERE number = 2");
  const settings_file file{""};
  relay running{on, file.flags()};
  eventually(
      "all others are deleted", [&] { return session.number("SELECT count(*) FROM outbox.event_p1") == 1; },
      drop_time_limit);
  on.await_drained();
  CHECK(on.count("dead") == 1);
  CHECK(on.count("published") == 100);
  const auto status = run_outboxd({"status"}, on.variables());
  CHECK_MESSAGE(status.says("the oldest, event_p1"), status.text());
  CHECK_MESSAGE(status.says("stays for its dead events"), status.text());
  const auto checked = run_outboxd({"check"}, on.variables());
  CHECK_MESSAGE(checked.says("it stays for its dead events"), checked.text());
  session.exec("SELECT outbox.dead_discard(ARRAY(SELECT id FROM outbox.event WHERE status = 'dead'))");
  file.write("[retention]\npublished = '6d'\n");
  running.send(SIGHUP);
  eventually(
      "it is dropped", [&] { return !is_there(session, "event_p1"); }, drop_time_limit);
  CHECK(on.count("published") == 100);
  running.stop();
}

TEST_CASE("what has come into a partition since it was looked through keeps it") {
  const partitioned_stage on;
  auto session = on.connect();
  on.add_events(10);
  session.exec("UPDATE outbox.event SET status = 'published'");
  rotate_partition(session);
  on.add_events(1);
  const auto drop = [&](const std::string& seen) {
    return session.exec(fmt::format("SELECT outbox.drop_partition(1, '{}')", seen))[0][0].value_or("dropped");
  };
  const auto snapshot = [&] { return session.value("SELECT pg_current_snapshot()"); };
  CHECK(session.value("SELECT outbox.drop_partition(2, pg_current_snapshot())") == "written to");
  CHECK(session.value("SELECT outbox.drop_partition(9, pg_current_snapshot())") == "gone");
  auto writer = on.connect();
  writer.exec("BEGIN");
  writer.exec(
      "INSERT INTO outbox.event (seq, aggregate_type, aggregate_id, event_type, payload)"
      " VALUES (4294967296 + 500, 'order', '1', $1, '{}')",
      {on.key()});
  const auto before = snapshot();
  CHECK_THROWS_AS(drop(before), database_error);  // its lock is not to be had
  writer.exec("COMMIT");
  CHECK(drop(before) == "unfinished");
  session.exec("UPDATE outbox.event SET status = 'published' WHERE seq = 4294967296 + 500");
  CHECK(drop(before) == "unfinished");
  const auto after = snapshot();
  session.exec("UPDATE outbox.event SET status = 'pending' WHERE seq = 4294967296 + 3");
  CHECK(drop(after) == "unfinished");
  session.exec("UPDATE outbox.event SET status = 'published' WHERE seq = 4294967296 + 3");
  CHECK(drop(after) == "dropped");
  CHECK_FALSE(is_there(session, "event_p1"));
  CHECK(on.count("pending") == 1);
}

TEST_CASE("what commits while a drop waits for the table keeps its partition") {
  const partitioned_stage on;
  auto session = on.connect();
  auto dropper = on.connect();
  auto writer = on.connect();
  on.add_events(10);
  session.exec("UPDATE outbox.event SET status = 'published'");
  rotate_partition(session);
  on.add_events(1);
  // It would give up before anything could happen.
  session.exec("ALTER FUNCTION outbox.drop_partition(bigint, pg_snapshot) SET lock_timeout = '1min'");
  writer.exec("BEGIN");
  writer.exec(
      "INSERT INTO outbox.event (seq, aggregate_type, aggregate_id, event_type, payload)"
      " VALUES (4294967296 + 500, 'order', '1', $1, '{}')",
      {on.key()});
  const auto seen = session.value("SELECT pg_current_snapshot()");
  auto dropping = std::async(std::launch::async, [&] {
    return dropper.exec(fmt::format("SELECT outbox.drop_partition(1, '{}')", seen))[0][0].value_or("dropped");
  });
  eventually("it waits for the writer", [&] {
    return session.number(
               "SELECT count(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database"
               " WHERE d.datname = current_database() AND NOT l.granted") == 1;
  });
  writer.exec("COMMIT");
  CHECK(dropping.get() == "unfinished");
}

TEST_CASE("a partition that was attached with other bounds keeps what the look at it could not see") {
  const partitioned_stage on;
  auto session = on.connect();
  on.add_events(3);
  session.exec("UPDATE outbox.event SET status = 'published'");
  rotate_partition(session);
  on.add_events(2);
  rotate_partition(session);
  on.add_events(1);
  session.exec(
      "ALTER TABLE outbox.event DETACH PARTITION outbox.event_p1; ALTER TABLE outbox.event DETACH PARTITION "
      "outbox.event_p2;"
      "INSERT INTO outbox.event_p1 SELECT * FROM outbox.event_p2; DROP TABLE outbox.event_p2;"
      "ALTER TABLE outbox.event ATTACH PARTITION outbox.event_p1 FOR VALUES FROM (1::bigint << 32) TO "
      "(3::bigint << 32)");
  CHECK(session.value("SELECT outbox.drop_partition(1, pg_current_snapshot())") == "unfinished");
  CHECK(session.value("SELECT outbox.drop_partition(3, pg_current_snapshot())") == "written to");
  CHECK(on.count("pending") == 3);
}

TEST_CASE("nothing is dropped by who cannot see what was committed before he had the table for himself") {
  const partitioned_stage on;
  auto session = on.connect();
  on.add_events(1);
  session.exec("UPDATE outbox.event SET status = 'published'");
  rotate_partition(session);
  for (const std::string level : {"REPEATABLE READ", "SERIALIZABLE"}) {
    session.exec("BEGIN ISOLATION LEVEL " + level);
    CHECK_THROWS_AS(session.exec("SELECT outbox.drop_partition(1, pg_current_snapshot())"), database_error);
    session.exec("ROLLBACK");
  }
  CHECK(is_there(session, "event_p1"));
}

TEST_CASE("an empty partition is dropped also when nothing is ever deleted by age") {
  const partitioned_stage on;
  auto session = on.connect();
  on.add_events(1);
  rotate_partition(session);
  relay running{on, {"--retention-published", "never"}};
  eventually(
      "it is dropped", [&] { return !is_there(session, "event_p0"); }, drop_time_limit);
  on.await_drained();
  CHECK(is_there(session, "event_p1"));
  running.stop();
}

TEST_CASE("partitions are dropped while relays and writers run: nothing is lost, and nobody waits long") {
  const partitioned_stage on;
  auto session = on.connect();
  session.exec(
      "CREATE TABLE written (id uuid, aggregate text, seq bigint);"
      "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS"
      " 'BEGIN INSERT INTO written VALUES (NEW.id, NEW.aggregate_id, NEW.seq); RETURN NULL; END';"
      "CREATE TRIGGER note AFTER INSERT ON outbox.event FOR EACH ROW EXECUTE FUNCTION note()");
  const settings_file file{""};
  relay running{on, file.flags()};
  relay standby{on, file.flags()};
  running.await_connected();
  load writers{on, {.writers = 3}};
  auto one_more = on.connect();
  double longest = 0;
  int dropped = 0;
  int looks = 0;
  for (int round = 0; round < 3; ++round) {
    const auto part = fmt::format("event_p{}", current_partition(session));
    eventually(
        "the partition is used",
        [&] { return session.number(fmt::format("SELECT count(*) FROM outbox.{}", part)) > 500; },
        time_limit);
    rotate_partition(session);
    eventually(
        "it is drained",
        [&] {
          return session.number(
                     fmt::format("SELECT count(*) FROM outbox.{} WHERE status <> 'published'", part)) == 0;
        },
        time_limit);
    session.exec(fmt::format("UPDATE outbox.{} SET published_at = now() - interval '8 d'", part));
    session.exec(
        "UPDATE outbox.event_partition SET began_at = now() - interval '8 d' WHERE began_at IS NOT NULL");
    session.exec("UPDATE outbox.event_partition SET began_at = now() - interval '7 d 1 h' WHERE number = $1",
                 {std::to_string(current_partition(session))});
    const auto look_now = [&] {
      file.write(fmt::format("[retention]\npublished = '{}m'\n", 7 * 24 * 60 + looks++ % 2));
      running.send(SIGHUP);
      standby.send(SIGHUP);
      return std::chrono::steady_clock::now();
    };
    auto looked = look_now();
    eventually(
        "it is dropped",
        [&] {
          if (std::chrono::steady_clock::now() - looked > std::chrono::seconds(15)) looked = look_now();
          const auto from = std::chrono::steady_clock::now();
          one_more.exec("SELECT outbox.emit('order', 'mine', $1, '{}')", {on.key()});
          longest = std::max(longest,
                             std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count());
          return !is_there(session, part);
        },
        drop_time_limit);
    ++dropped;
  }
  writers.stop();
  on.await_drained();
  MESSAGE("the longest of the other writer's waits: ", longest * 1'000, " ms");
  CHECK(dropped == 3);
  std::set<std::string> got;
  consumer reader{on.queue(), 500};
  const auto written = session.number("SELECT count(*) FROM written");
  session.exec("CREATE TEMP TABLE arrived (n bigserial, id uuid)");
  for (const auto& message : reader.take(static_cast<int>(written), time_limit)) {
    CHECK(got.insert(message.message_id()).second);
    session.exec("INSERT INTO arrived (id) VALUES ($1)", {message.message_id()});
  }
  CHECK(static_cast<std::int64_t>(got.size()) == written);
  CHECK(session.number(
            "SELECT count(*) FROM (SELECT w.seq < lag(w.seq) OVER (PARTITION BY w.aggregate ORDER BY a.n) AS "
            "wrong FROM arrived AS a JOIN written AS w ON w.id = a.id) AS x WHERE x.wrong") == 0);
  running.stop();
  standby.stop();
}

}  // namespace outboxd::test::partition_keeper_test
