// Another session's lock that is in the way for ten seconds is logged, once, and `outboxd status` names the
// session; what can go on does.
#include <doctest/doctest.h>

#include <algorithm>

#include "login.hpp"
#include "stage.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::test::lock_holder_test {
namespace {

constexpr auto canary = "canary-4711";
constexpr auto rows_locked = "cannot be marked as published: another session has locked their rows";
constexpr auto table_locked = "cannot be read or marked as published: another session has locked their table";

std::string advisory(std::string_view function, int key) {
  return fmt::format("SELECT {}({}, {})", function, store::lock_class(*pg::schema_name::parse("outbox")),
                     key);
}

/// A session whose user and application can be told.
struct lock_holder {
  const stage& on;
  const login user;
  database session;

  explicit lock_holder(const stage& where)
      : on{where}, user{""}, session{user.url(on) + "?application_name=backup"} {}
  ~lock_holder() { on.connect().exec("DROP OWNED BY " + user.name()); }
  lock_holder(const lock_holder&) = delete;
  lock_holder& operator=(const lock_holder&) = delete;

  void may_write() const {
    on.connect().exec(
        fmt::format("GRANT ALL ON outbox.event TO {0}; GRANT USAGE ON SCHEMA outbox TO {0}", user.name()));
  }
  std::string pid() {
    return fmt::format("pid {} (user {}, application backup", session.backend_pid(), user.name());
  }
};

// Longer than what is done while the relay is frozen takes.
const arguments long_claim{"--relay-claim-timeout", "1m"};

bool has(const std::string& line, std::string_view words) {
  return line.find(words) != std::string::npos;
}

/// The relay tells this, without a name, and `outboxd status` says in these words who it is.
void await_named(relay& running, lock_holder& who, std::string_view told, std::string_view words) {
  running.wait_line(std::string(told), time_limit);
  CHECK(running.count_lines(who.pid()) == 0);
  const auto status = run_outboxd({"status"}, who.on.variables()).text();
  CHECK_MESSAGE(has(status, fmt::format("{}) {}", who.pid(), words)), status);
}

void check_exact(const stage& on) {
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
}

}  // namespace

TEST_CASE("a stranger who holds the lead of a shard is told of, and the relay leads when he is gone") {
  const stage on;
  const login user{"outbox_relay"};
  lock_holder thief{on};
  thief.session.exec(advisory("pg_advisory_lock", store::lead_key));
  on.add_events(5, 10);
  auto variables = hasty;
  variables["OUTBOXD_DATABASE_URL"] = user.url(on);
  relay running{on, {}, variables};
  constexpr auto told = "no relay can lead shard 0 of outbox";
  await_named(running, thief, told, "holds ExclusiveLock and keeps relays from leading");
  CHECK(on.count("pending") == 50);
  thief.session.exec("SELECT pg_advisory_unlock_all()");
  running.wait_line("leads shard 0 of 1", time_limit);
  check_exact(on);
  CHECK(running.count_lines(told) == 1);
  running.stop();
}

TEST_CASE("another relay that leads is not in the way, and a stranger after it is") {
  const stage on;
  relay first{on, {}, hasty};
  first.wait_line("leads shard 0 of 1", time_limit);
  relay second{on, {}, hasty};
  second.wait_line("standby: another", time_limit);
  first.stop();
  second.wait_line("leads shard 0 of 1", time_limit);
  // The same one again, now with somebody who is no relay.
  lock_holder thief{on};
  auto asks = on.connect();
  asks.exec(advisory("pg_advisory_lock_shared", store::request_key));
  asks.exec("NOTIFY outbox, 'yield'");
  eventually(
      "the stranger has the lead",
      [&] { return thief.session.value(advisory("pg_try_advisory_lock", store::lead_key)) == "t"; },
      time_limit);
  asks.exec("SELECT pg_advisory_unlock_all()");
  await_named(second, thief, "no relay can lead shard 0 of outbox",
              "holds ExclusiveLock and keeps relays from leading");
  CHECK(second.count_lines("no relay can lead") == 1);
  second.stop();
}

TEST_CASE(
    "somebody who poses as many relays takes no shard away, and who keeps PRESENT keeps nobody from "
    "leading") {
  for (const std::string how : {"pg_advisory_lock_shared", "pg_advisory_lock"}) {
    CAPTURE(how);
    const stage on;
    REQUIRE(run_outboxd({"migrate", "--shards", "4"}, on.variables()).exited(0));
    lock_holder poser{on};
    poser.session.exec(advisory(how, store::present_key));
    relay running{on, {"--relay-sweep-interval", "50ms"}};
    for (const int shard : {0, 1, 2, 3}) on.await_leader(shard);
    on.add_events(5, 10);
    check_exact(on);
    CHECK(on.shards_led() == 4);
    running.stop();
  }
}

TEST_CASE("who keeps the leader from being idle is named by status, and events leave meanwhile") {
  const stage on;
  lock_holder noisy{on};
  noisy.session.exec(advisory("pg_advisory_lock", store::sleep_key));
  relay running{on, long_claim, hasty};
  running.await_connected();
  await_named(running, noisy, "the leader of shard 0 of outbox polls and cannot be idle",
              "holds ExclusiveLock and keeps relays from sleeping");
  on.add_events(5, 10);
  check_exact(on);
  noisy.session.exec("SELECT pg_advisory_unlock_all()");
  on.await_asleep();
  running.stop();
}

TEST_CASE(
    "who has locked rows that are to be marked is named by status and check, and the others are marked") {
  const stage on;
  relay running{on, long_claim, hasty};
  running.await_connected();
  lock_holder clerk{on};
  clerk.may_write();
  running.freeze(on);
  on.add_events(1, 20);
  clerk.session.exec("BEGIN");
  clerk.session.exec(fmt::format(
      "SELECT FROM outbox.event WHERE aggregate_id = '7' AND headers::text <> '{}' FOR UPDATE", canary));
  running.send(SIGCONT);
  on.await_published(19);
  await_named(running, clerk, rows_locked, "holds row locks and keeps relays from writing");
  const auto check = run_outboxd({"check"}, on.variables()).text();
  CHECK_MESSAGE(has(check, "events of outbox cannot be marked as published: " + clerk.pid()), check);
  CHECK_MESSAGE(has(check, "latest statement: SELECT FROM outbox.event WHERE aggregate_id = ..."), check);
  CHECK_FALSE(has(check, canary));
  CHECK(on.count("pending") == 1);
  clerk.session.exec("COMMIT");
  check_exact(on);
  CHECK(running.count_lines(rows_locked) == 1);
  for (const auto& one : running.lines()) CHECK_FALSE(has(one, canary));
  running.stop();
}

TEST_CASE("sessions that have locked rows together are named by status") {
  const stage on;
  relay running{on, long_claim, hasty};
  running.await_connected();
  lock_holder one{on};
  auto other = on.connect();
  one.may_write();
  running.freeze(on);
  on.add_events(1, 5);
  one.session.exec("BEGIN; SELECT FROM outbox.event FOR SHARE");
  other.exec("BEGIN; SELECT FROM outbox.event FOR SHARE");
  running.send(SIGCONT);
  await_named(running, one, rows_locked, "holds row locks and keeps relays from writing");
  one.session.exec("COMMIT");
  other.exec("COMMIT");
  check_exact(on);
  running.stop();
}

TEST_CASE("who has locked the table is named by status, and nothing goes out twice") {
  for (const std::string mode : {"SHARE", "ACCESS EXCLUSIVE"}) {
    CAPTURE(mode);
    const stage on;
    relay running{on, long_claim, hasty};
    running.await_connected();
    lock_holder dba{on};
    dba.may_write();
    running.freeze(on);
    on.add_events(5, 10);
    dba.session.exec("BEGIN");
    dba.session.exec(fmt::format("LOCK TABLE outbox.event IN {} MODE", mode));
    running.send(SIGCONT);
    await_named(running, dba, table_locked,
                fmt::format("holds {}Lock and keeps relays from writing",
                            mode == "SHARE" ? "Share" : "AccessExclusive"));
    dba.session.exec("COMMIT");
    check_exact(on);
    running.stop();
  }
}

TEST_CASE("a lock on the table is told of although what needs no event gets through") {
  const stage on;
  relay running{on, long_claim, hasty};
  running.await_connected();
  lock_holder dba{on};
  dba.may_write();
  running.freeze(on);
  on.add_events(5, 10);
  dba.session.exec("BEGIN; LOCK TABLE outbox.event IN ACCESS EXCLUSIVE MODE");
  running.send(SIGCONT);
  auto asking = on.connect();
  eventually(
      "the lock is told of",
      [&] {
        asking.exec("SELECT pg_notify('outbox', 'pause')");  // the relay looks what is paused
        return running.count_lines(table_locked) > 0;
      },
      time_limit);
  for (const auto& one : running.lines()) CHECK_FALSE_MESSAGE(has(one, "reads and marks go on"), one);
  dba.session.exec("COMMIT");
  check_exact(on);
  running.stop();
}

TEST_CASE("a lock on the table that waits behind a writer is named by status, and so is the writer") {
  const stage on;
  relay running{on, long_claim, hasty};
  running.await_connected();
  lock_holder dba{on};
  dba.may_write();
  auto writer = on.connect();
  running.freeze(on);
  on.add_events(5, 10);
  writer.exec("BEGIN");
  writer.exec("SELECT outbox.emit('order', 'slow', $1, '{}')", {on.key()});
  REQUIRE(PQsendQuery(dba.session.handle(), "BEGIN; LOCK TABLE outbox.event IN SHARE MODE; COMMIT") == 1);
  auto looking = on.connect();
  eventually(
      "the lock waits",
      [&] {
        return looking.number("SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = $1",
                              {std::to_string(dba.session.backend_pid())}) > 0;
      },
      time_limit);
  running.send(SIGCONT);
  await_named(
      running, dba, table_locked,
      fmt::format("waits for ShareLock and keeps relays from writing, behind pid {}", writer.backend_pid()));
  writer.exec("COMMIT");
  while (PGresult* const result = PQgetResult(dba.session.handle())) PQclear(result);
  check_exact(on);
  running.stop();
}

}  // namespace outboxd::test::lock_holder_test
