// Who else's locks are in the way for ten seconds is named in the log, once, without a word of any payload;
// what can go on does.
#include <doctest/doctest.h>

#include <algorithm>

#include "login.hpp"
#include "stage.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::test::culprit_test {
namespace {

constexpr auto canary = "canary-4711";

std::string advisory(std::string_view function, int key) {
  return fmt::format("SELECT {}({}, {})", function, store::lock_class(*pg::schema_name::parse("outbox")),
                     key);
}

/// A session whose user and application the log can tell.
struct culprit {
  const stage& on;
  const login user;
  database session;

  explicit culprit(const stage& where)
      : on{where}, user{""}, session{user.url(on) + "?application_name=backup"} {}
  ~culprit() { on.connect().exec("DROP OWNED BY " + user.name()); }
  culprit(const culprit&) = delete;
  culprit& operator=(const culprit&) = delete;

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

std::string await_named(relay& running, culprit& who) {
  return running.wait_line(who.pid(), time_limit);
}

std::ptrdiff_t times_named(const relay& running, culprit& who) {
  return running.count_lines(who.pid());
}

bool has(const std::string& line, std::string_view words) {
  return line.find(words) != std::string::npos;
}

void check_exact(const stage& on) {
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
}

}  // namespace

TEST_CASE("a stranger who holds the lead of a shard is named, and the relay leads when he is gone") {
  const stage on;
  const login user{"outbox_relay"};
  culprit thief{on};
  thief.session.exec(advisory("pg_advisory_lock", store::lead_key));
  on.add_events(5, 10);
  auto variables = hasty;
  variables["OUTBOXD_DATABASE_URL"] = user.url(on);
  relay running{on, {}, variables};
  const auto line = await_named(running, thief);
  CHECK_MESSAGE(has(line, "no relay can lead shard 0 of outbox"), line);
  CHECK_MESSAGE(has(line, "pg_read_all_stats"), line);  // the relay's user may not see the statement
  CHECK(on.count("pending") == 50);
  thief.session.exec("SELECT pg_advisory_unlock_all()");
  running.wait_line("leads shard 0 of 1", time_limit);
  check_exact(on);
  CHECK(times_named(running, thief) == 1);
  running.stop();
}

TEST_CASE("another relay that leads is no culprit, and the statement is shown to who may see it") {
  const stage on;
  relay first{on, {}, hasty};
  first.wait_line("leads shard 0 of 1", time_limit);
  relay second{on, {}, hasty};
  second.wait_line("standby: another", time_limit);
  first.stop();
  second.wait_line("leads shard 0 of 1", time_limit);
  // The same one again, now with somebody who is a culprit.
  culprit thief{on};
  auto asks = on.connect();
  asks.exec(advisory("pg_advisory_lock_shared", store::request_key));
  asks.exec("NOTIFY outbox, 'yield'");
  eventually(
      "the stranger has the lead",
      [&] { return thief.session.value(advisory("pg_try_advisory_lock", store::lead_key)) == "t"; },
      time_limit);
  asks.exec("SELECT pg_advisory_unlock_all()");
  const auto line = await_named(second, thief);
  CHECK_MESSAGE(has(line, "latest statement: SELECT pg_try_advisory_lock(..."), line);
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
    culprit poser{on};
    poser.session.exec(advisory(how, store::present_key));
    relay running{on, {"--relay-sweep-interval", "50ms"}};
    for (const int shard : {0, 1, 2, 3}) on.await_leader(shard);
    on.add_events(5, 10);
    check_exact(on);
    CHECK(on.shards_led() == 4);
    running.stop();
  }
}

TEST_CASE("who keeps the leader from sleeping is named, and events leave meanwhile") {
  const stage on;
  culprit noisy{on};
  noisy.session.exec(advisory("pg_advisory_lock", store::sleep_key));
  relay running{on, long_claim, hasty};
  running.await_connected();
  const auto line = await_named(running, noisy);
  CHECK_MESSAGE(has(line, "the leader of shard 0 of outbox polls and cannot be idle"), line);
  CHECK_MESSAGE(has(line, "(ExclusiveLock)"), line);
  on.add_events(5, 10);
  check_exact(on);
  noisy.session.exec("SELECT pg_advisory_unlock_all()");
  on.await_asleep();
  running.stop();
}

TEST_CASE(
    "who has locked rows that are to be marked is named without his literals, and the others are marked") {
  const stage on;
  relay running{on, long_claim, hasty};
  running.await_connected();
  culprit clerk{on};
  clerk.may_write();
  running.freeze(on);
  on.add_events(1, 20);
  clerk.session.exec("BEGIN");
  clerk.session.exec(fmt::format(
      "SELECT FROM outbox.event WHERE aggregate_id = '7' AND headers::text <> '{}' FOR UPDATE", canary));
  running.send(SIGCONT);
  on.await_published(19);
  const auto line = await_named(running, clerk);
  CHECK_MESSAGE(has(line, "events of outbox cannot be marked"), line);
  CHECK_MESSAGE(has(line, "latest statement: SELECT FROM outbox.event WHERE aggregate_id = ..."), line);
  CHECK(on.count("pending") == 1);
  clerk.session.exec("COMMIT");
  check_exact(on);
  CHECK(times_named(running, clerk) == 1);
  for (const auto& one : running.lines()) CHECK_FALSE(has(one, canary));
  running.stop();
}

TEST_CASE("rows that several sessions have locked together name one of them") {
  const stage on;
  relay running{on, long_claim, hasty};
  running.await_connected();
  culprit one{on};
  auto other = on.connect();
  one.may_write();
  running.freeze(on);
  on.add_events(1, 5);
  one.session.exec("BEGIN; SELECT FROM outbox.event FOR SHARE");
  other.exec("BEGIN; SELECT FROM outbox.event FOR SHARE");
  running.send(SIGCONT);
  running.wait_line("has locked their rows", time_limit);
  one.session.exec("COMMIT");
  other.exec("COMMIT");
  check_exact(on);
  running.stop();
}

TEST_CASE("who has locked the table, or waits to, is named, and nothing goes out twice") {
  for (const std::string mode : {"SHARE", "ACCESS EXCLUSIVE"}) {
    CAPTURE(mode);
    const stage on;
    relay running{on, long_claim, hasty};
    running.await_connected();
    culprit dba{on};
    dba.may_write();
    running.freeze(on);
    on.add_events(5, 10);
    dba.session.exec("BEGIN");
    dba.session.exec(fmt::format("LOCK TABLE outbox.event IN {} MODE", mode));
    running.send(SIGCONT);
    const auto line = await_named(running, dba);
    CHECK_MESSAGE(has(line, "cannot be read or marked"), line);
    CHECK_MESSAGE(has(line, "Lock on the table"), line);
    dba.session.exec("COMMIT");
    check_exact(on);
    running.stop();
  }
}

TEST_CASE("a lock on the table is named although what needs no event gets through") {
  const stage on;
  relay running{on, long_claim, hasty};
  running.await_connected();
  culprit dba{on};
  dba.may_write();
  running.freeze(on);
  on.add_events(5, 10);
  dba.session.exec("BEGIN; LOCK TABLE outbox.event IN ACCESS EXCLUSIVE MODE");
  running.send(SIGCONT);
  auto asking = on.connect();
  eventually(
      "who has locked the table is named",
      [&] {
        asking.exec("SELECT pg_notify('outbox', 'pause')");  // the relay looks what is paused
        return times_named(running, dba) > 0;
      },
      time_limit);
  for (const auto& one : running.lines()) CHECK_FALSE_MESSAGE(has(one, "reads and marks go on"), one);
  dba.session.exec("COMMIT");
  check_exact(on);
  running.stop();
}

TEST_CASE("a lock on the table that waits behind a writer names both") {
  const stage on;
  relay running{on, long_claim, hasty};
  running.await_connected();
  culprit dba{on};
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
  const auto line = await_named(running, dba);
  CHECK_MESSAGE(has(line, "waits for ShareLock"), line);
  CHECK_MESSAGE(has(line, fmt::format("behind pid {}", writer.backend_pid())), line);
  writer.exec("COMMIT");
  while (PGresult* const result = PQgetResult(dba.session.handle())) PQclear(result);
  check_exact(on);
  running.stop();
}

}  // namespace outboxd::test::culprit_test
