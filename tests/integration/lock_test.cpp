// Locks and DDL of others are no fault: while they last events may stay, and afterwards each has gone out
// once.
#include <doctest/doctest.h>

#include <memory>

#include "load.hpp"
#include "partitioned.hpp"
#include "stage.hpp"
#include "store/relay_statements.hpp"

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

constexpr auto claim_timeout = 6s;
const arguments short_claim{"--relay-batch", "200", "--relay-claim-timeout", "6s"};

// By then another relay would lead, if the lock counted as a leader that hangs.
void await_twice_claim_timeout() {
  const auto from = steady_clock::now();
  eventually(
      "twice relay.claim_timeout has passed", [&] { return steady_clock::now() > from + 2 * claim_timeout; },
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
        return on.ask("SELECT count(*) FROM outbox.event WHERE status = 'pending' AND aggregate_id <> '7'") ==
               0;
      },
      time_limit);
}

// The modes that a mark waits for.
const std::vector<std::string> modes{"SHARE", "SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE"};

// An outbox whose table somebody locks. There is one for each mode, so that all are waited for at once.
class locked_outbox {
 public:
  explicit locked_outbox(const std::string& mode)
      : lock_(fmt::format("LOCK TABLE outbox.event IN {} MODE", mode)) {}

  // While the table is not locked: so that there are marks to be made when the relay goes on. It is frozen
  // for a moment only, for a leader that hangs loses the lead.
  template <class Lock>
  void freeze_until_locked(Lock lock) {
    auto writer = on_.connect();
    writer.exec("BEGIN");
    writer.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
        " SELECT 'order', a, $1, jsonb_build_object('n', n)"
        " FROM generate_series(1, 50) AS n, generate_series(1, 40) AS a ORDER BY n, a",
        {on_.key()});
    running_.freeze(on_);
    writer.exec("COMMIT");
    lock();
    running_.send(SIGCONT);
    await_met(session_, leader_);
  }

  void hold() {
    freeze_until_locked([this] {
      other_.exec("BEGIN");
      other_.exec(lock_);
    });
  }
  void write_and_release() {
    other_.exec("SELECT outbox.emit('order', 'late', $1, '{}')", {on_.key()});
    other_.exec("COMMIT");
  }

  // Behind a writer; everybody else waits behind it.
  void queue() {
    freeze_until_locked([this] {
      writer_.exec("BEGIN");
      writer_.exec("SELECT outbox.emit('order', 'slow', $1, '{}')", {on_.key()});
      REQUIRE(PQsendQuery(other_.handle(), fmt::format("BEGIN; {}; COMMIT", lock_).c_str()) == 1);
      eventually("the lock waits", [&] {
        return session_.number("SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = $1",
                               {std::to_string(other_.backend_pid())}) > 0;
      });
    });
  }
  void let_through() {
    writer_.exec("COMMIT");
    while (PGresult* const result = PQgetResult(other_.handle())) PQclear(result);
    on_.add_events(20, 40);
  }

  // The log says that there is such a session, and status names it.
  void check_named() {
    running_.wait_line("another session has locked their table; `outboxd status` names it", time_limit);
    const auto status = run_outboxd({"status"}, on_.variables());
    CHECK_MESSAGE(status.says(fmt::format("pid {} (", other_.backend_pid())), status.text());
  }
  void check_undisturbed() { lock_test::check_undisturbed(on_, running_, leader_); }

 private:
  std::string lock_;
  stage on_;
  relay running_{on_, short_claim, hasty};
  std::int64_t leader_ = on_.await_leader();
  database session_ = on_.connect();
  database other_ = on_.connect();
  database writer_ = on_.connect();
};

std::vector<std::unique_ptr<locked_outbox>> one_for_each_mode() {
  std::vector<std::unique_ptr<locked_outbox>> all;
  for (const auto& mode : modes) all.push_back(std::make_unique<locked_outbox>(mode));
  return all;
}

}  // namespace

TEST_CASE("a lock on the table that is held costs no event, no duplicate and not the lead") {
  const auto all = one_for_each_mode();
  // Once for a moment, during a drain, and once for twice relay.claim_timeout.
  for (const auto& one : all) {
    one->hold();
    one->write_and_release();
  }
  for (const auto& one : all) one->hold();
  await_twice_claim_timeout();
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(modes[i]);
    all[i]->check_named();
    all[i]->write_and_release();
    all[i]->check_undisturbed();
  }
}

TEST_CASE("a lock on the table that waits behind a writer costs no event, no duplicate and not the lead") {
  const auto all = one_for_each_mode();
  for (const auto& one : all) one->queue();
  await_twice_claim_timeout();
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(modes[i]);
    all[i]->check_named();
    all[i]->let_through();
    all[i]->check_undisturbed();
  }
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
  relay running{on};
  eventually("the others are written", [&] { return on.count("waiting") == 399; });
  CHECK(on.count("pending") == 1);
  locker.exec("COMMIT");
  eventually("all are written", [&] { return on.count("waiting") == 400; });
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE first_failed_at <= now()") == 400);
  running.stop();
}

TEST_CASE("who is asked to make way while a row is locked goes on with all others") {
  const stage on;
  relay running{on};
  const auto leader = on.await_leader();
  auto locked = lock_one_aggregate(on, running);
  await_others_marked(on);
  auto asks = on.connect();
  asks.exec(fmt::format("SELECT pg_advisory_lock_shared({}, {})",
                        store::lock_class(*pg::schema_name::parse("outbox")), store::request_key));
  asks.exec("NOTIFY outbox, 'yield'");
  on.add_events(20, 50);
  await_others_marked(on);
  CHECK(on.leader() == leader);
  locked.exec("COMMIT");  // from now on it may make way
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
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
