// Locks and DDL of others are no fault: while they last events may stay, and afterwards each has gone out
// once.
#include <doctest/doctest.h>

#include "load.hpp"
#include "partitioned.hpp"
#include "stage.hpp"

namespace outboxd::test::lock_test {
namespace {

// The leader has met somebody's lock a few times.
void await_met(database& session, std::int64_t leader) {
  int met = 0;
  eventually(
      "the leader meets the lock",
      [&] {
        met += static_cast<int>(session.number(
            "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'",
            {std::to_string(leader)}));
        return met >= 5;
      },
      time_limit);
}

// By then another relay would lead, if the lock counted as a leader that hangs.
void await_twice_claim_timeout(database& session) {
  const auto from = session.value("SELECT clock_timestamp()");
  eventually(
      "twice relay.claim_timeout has passed",
      [&] {
        return session.value("SELECT clock_timestamp() > $1::timestamptz + interval '20 s'", {from}) == "t";
      },
      time_limit);
}

void check_undisturbed(const stage& on, relay& running, std::int64_t leader) {
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(on.leader() == leader);
  running.stop();
}

// The session holds the rows of one of 20 aggregates when the relay comes to mark them.
database lock_one_aggregate(const stage& on, relay& running) {
  running.freeze(on);
  on.add_events(20, 50);
  auto locked = on.connect();
  locked.exec("BEGIN");
  locked.exec("SELECT FROM outbox.event WHERE aggregate_id = '7' FOR UPDATE");
  running.send(SIGCONT);
  return locked;
}

void await_others_marked(const stage& on) {
  eventually(
      "the others are marked",
      [&] {
        return on.connect().number(
                   "SELECT count(*) FROM outbox.event WHERE status = 'pending' AND aggregate_id <> '7'") == 0;
      },
      time_limit);
}

// Three times during a drain, at last for twice relay.claim_timeout.
void check_held(const std::string& mode) {
  CAPTURE(mode);
  const stage on;
  relay running{on, {"--relay-batch", "200"}};
  const auto leader = on.await_leader();
  auto session = on.connect();
  auto other = on.connect();
  for (int i = 0; i < 3; ++i) {
    running.freeze(on);  // so that there are marks to be made when it goes on
    on.add_events(50, 40);
    other.exec("BEGIN");
    other.exec(fmt::format("LOCK TABLE outbox.event IN {} MODE", mode));
    if (i > 0) other.exec("SELECT outbox.emit('order', 'late', $1, '{}')", {on.key()});
    running.send(SIGCONT);
    await_met(session, leader);
    if (i == 2) await_twice_claim_timeout(session);
    other.exec("COMMIT");
  }
  running.wait_line(fmt::format("pid {} (", other.backend_pid()), time_limit);
  check_undisturbed(on, running, leader);
}

// Behind a writer, for twice relay.claim_timeout; everybody else waits behind it.
void check_queued(const std::string& mode) {
  CAPTURE(mode);
  const stage on;
  relay running{on, {"--relay-batch", "200"}};
  const auto leader = on.await_leader();
  auto session = on.connect();
  auto writer = on.connect();
  auto locker = on.connect();
  running.freeze(on);
  on.add_events(50, 40);
  writer.exec("BEGIN");
  writer.exec("SELECT outbox.emit('order', 'slow', $1, '{}')", {on.key()});
  REQUIRE(PQsendQuery(locker.handle(),
                      fmt::format("BEGIN; LOCK TABLE outbox.event IN {} MODE; COMMIT", mode).c_str()) == 1);
  eventually("the lock waits", [&] {
    return session.number("SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = $1",
                          {std::to_string(PQbackendPID(locker.handle()))}) > 0;
  });
  running.send(SIGCONT);
  await_met(session, leader);
  await_twice_claim_timeout(session);
  writer.exec("COMMIT");
  while (PGresult* const result = PQgetResult(locker.handle())) PQclear(result);
  running.wait_line(fmt::format("pid {} (", locker.backend_pid()), time_limit);
  on.add_events(20, 40);
  check_undisturbed(on, running, leader);
}

}  // namespace

// The modes that a mark waits for. Each case is one of its own, for they wait long, and beside each other.
TEST_CASE("SHARE that is held costs no event, no duplicate and not the lead") {
  check_held("SHARE");
}
TEST_CASE("SHARE ROW EXCLUSIVE that is held costs no event, no duplicate and not the lead") {
  check_held("SHARE ROW EXCLUSIVE");
}
TEST_CASE("EXCLUSIVE that is held costs no event, no duplicate and not the lead") {
  check_held("EXCLUSIVE");
}
TEST_CASE("ACCESS EXCLUSIVE that is held costs no event, no duplicate and not the lead") {
  check_held("ACCESS EXCLUSIVE");
}
TEST_CASE("SHARE that waits behind a writer costs no event, no duplicate and not the lead") {
  check_queued("SHARE");
}
TEST_CASE("SHARE ROW EXCLUSIVE that waits behind a writer costs no event, no duplicate and not the lead") {
  check_queued("SHARE ROW EXCLUSIVE");
}
TEST_CASE("EXCLUSIVE that waits behind a writer costs no event, no duplicate and not the lead") {
  check_queued("EXCLUSIVE");
}
TEST_CASE("ACCESS EXCLUSIVE that waits behind a writer costs no event, no duplicate and not the lead") {
  check_queued("ACCESS EXCLUSIVE");
}

TEST_CASE("the locks of readers, writers and VACUUM hold up nothing") {
  for (const std::string mode : {"ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE"}) {
    CAPTURE(mode);
    const stage on;
    relay running{on};
    const auto leader = on.await_leader();
    auto other = on.connect();
    other.exec("BEGIN");
    other.exec(fmt::format("LOCK TABLE outbox.event IN {} MODE", mode));
    on.add_events(20, 40);
    check_undisturbed(on, running, leader);
    other.exec("COMMIT");
  }
}

TEST_CASE("rows that somebody has locked are marked when he is done, and the others meanwhile") {
  const stage on;
  relay running{on};
  const auto leader = on.await_leader();
  auto locked = lock_one_aggregate(on, running);
  await_others_marked(on);
  locked.exec("COMMIT");
  check_undisturbed(on, running, leader);
}

TEST_CASE("failures of rows that somebody has locked are written when he is done, and the others meanwhile") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, routing_key)"
      " SELECT 'order', n, 'created', '{}', 'no.queue.is.bound' FROM generate_series(1, 400) AS n");
  auto locker = on.connect();
  locker.exec("BEGIN");
  locker.exec("SELECT FROM outbox.event WHERE aggregate_id = '200' FOR UPDATE");
  relay running{on, {"--retry-schedule", "1h,1h"}};
  eventually("the others are written", [&] { return on.count("waiting") == 399; });
  CHECK(on.count("pending") == 1);
  locker.exec("COMMIT");
  eventually("all are written", [&] { return on.count("waiting") == 400; });
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE attempts = 1") == 400);
  running.stop();
}

TEST_CASE("who is asked to make way while a row is locked goes on with all others") {
  const stage on;
  relay running{on};
  const auto leader = on.await_leader();
  auto locked = lock_one_aggregate(on, running);
  await_others_marked(on);
  on.connect().exec("SELECT pg_notify('outbox', 'yield')");
  on.add_events(20, 50);
  await_others_marked(on);
  locked.exec("COMMIT");
  check_undisturbed(on, running, leader);
}

TEST_CASE("DDL that rewrites, moves or indexes the table during a drain costs no event and no duplicate") {
  const unpartitioned_stage on;
  load writers{on};
  relay running{on, {"--relay-batch", "200"}};
  const auto leader = on.await_leader();
  auto session = on.connect();
  for (const std::string ddl : {
           "ALTER TABLE outbox.event ADD COLUMN mine integer",
           "VACUUM FULL outbox.event",
           "ALTER TABLE outbox.event ADD COLUMN random float8 DEFAULT random()",
           "CREATE INDEX mine ON outbox.event (aggregate_type, aggregate_id)",
           "CLUSTER outbox.event USING event_pkey",
           "ALTER TABLE outbox.event DROP COLUMN mine",
           "REINDEX TABLE outbox.event",
           "ALTER TABLE outbox.event SET (fillfactor = 80)",
           "ANALYZE outbox.event",
           "ALTER TABLE outbox.event ALTER COLUMN mine2 TYPE bigint",
       }) {
    CAPTURE(ddl);
    if (ddl.find("mine2") != std::string::npos)
      session.exec("ALTER TABLE outbox.event ADD COLUMN mine2 integer DEFAULT 7");
    on.await_published(on.count("published") + 100);
    session.exec(ddl);
  }
  writers.stop();
  check_undisturbed(on, running, leader);
}

}  // namespace outboxd::test::lock_test
