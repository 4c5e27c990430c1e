// Locks and DDL of others are no fault: while they last events may stay, and afterwards each has gone out
// once.
#include <doctest/doctest.h>

#include "load.hpp"
#include "partitioned.hpp"
#include "stage.hpp"

namespace outboxd::test {
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
      patience);
}

// By then another relay would lead, if the lock counted as a leader that hangs.
void await_twice_claim_timeout(database& session) {
  const auto from = session.value("SELECT clock_timestamp()");
  eventually(
      "twice relay.claim_timeout has passed",
      [&] {
        return session.value("SELECT clock_timestamp() > $1::timestamptz + interval '20 s'", {from}) == "t";
      },
      patience);
}

void check_undisturbed(const stage& on, relay& running, std::int64_t leader) {
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(on.leader() == leader);
  running.stop();
}

}  // namespace

TEST_CASE("locks on the table that are held during a drain cost no event, no duplicate and not the lead") {
  for (const std::string mode : {"SHARE", "SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE"}) {
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
      if (i == 2 && (mode == "SHARE" || mode == "ACCESS EXCLUSIVE")) await_twice_claim_timeout(session);
      other.exec("COMMIT");
    }
    check_undisturbed(on, running, leader);
  }
}

TEST_CASE(
    "a lock that waits behind a writer, with everybody behind it, costs no event, no duplicate and not the "
    "lead") {
  for (const std::string mode : {"SHARE", "SHARE ROW EXCLUSIVE", "ACCESS EXCLUSIVE"}) {
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
    if (mode == "SHARE") await_twice_claim_timeout(session);
    writer.exec("COMMIT");
    while (PGresult* const result = PQgetResult(locker.handle())) PQclear(result);
    on.add_events(20, 40);
    check_undisturbed(on, running, leader);
  }
}

TEST_CASE("rows that somebody has locked are marked when he is done, and the others meanwhile") {
  const stage on;
  relay running{on};
  const auto leader = on.await_leader();
  running.freeze(on);
  on.add_events(20, 50);
  auto locked = on.connect();
  locked.exec("BEGIN");
  locked.exec("SELECT FROM outbox.event WHERE aggregate_id = '7' FOR UPDATE");
  running.send(SIGCONT);
  eventually(
      "the others are marked",
      [&] {
        return on.connect().number(
                   "SELECT count(*) FROM outbox.event WHERE status = 'pending' AND aggregate_id <> '7'") == 0;
      },
      patience);
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

}  // namespace outboxd::test
