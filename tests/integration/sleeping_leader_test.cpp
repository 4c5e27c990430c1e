// The doorbell: a leader that sleeps is rung and misses nothing, and while it is awake writers are silent.
#include <doctest/doctest.h>

#include <memory>

#include "load.hpp"
#include "stage.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::test::sleeping_leader_test {
namespace {

constexpr load_options busy{.writers = 8, .pause_seconds = 0};

// The lock SLEEP of shard 0.
class sleep_lock {
 public:
  explicit sleep_lock(const stage& on) : session_{on.connect()} {}

  // The session that has it exclusively; 0: nobody sleeps.
  std::int64_t holder() { return number("coalesce(max(pid), 0)", "granted AND mode = 'ExclusiveLock'"); }
  bool is_waited_for() { return number("count(*)", "NOT granted AND mode = 'ExclusiveLock'") > 0; }
  void await_awake() {
    eventually(
        "nobody sleeps", [&] { return holder() == 0 && !is_waited_for(); }, time_limit);
  }
  database& session() { return session_; }

 private:
  std::int64_t number(const std::string& what, const std::string& which) {
    return session_.number(
        fmt::format("SELECT {} FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND objid = 64"
                    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND {}",
                    what, which));
  }

  database session_;
};

// Someone else who listens.
class ear {
 public:
  explicit ear(const stage& on) : session_{on.connect()} { session_.exec("LISTEN outbox"); }

  // How many writers have rung so far.
  int rings() {
    session_.exec("SELECT 1");  // notifications of before have arrived with its answer
    while (PGnotify* const one = PQnotifies(session_.handle())) {
      if (std::string_view(one->extra) == "ring") ++rings_;
      PQfreemem(one);
    }
    return rings_;
  }

 private:
  database session_;
  int rings_ = 0;
};

// A transaction with one event in it, open until it is told to end.
class open_writer {
 public:
  explicit open_writer(const stage& on, const std::string& aggregate = "1") : session_{on.connect()} {
    session_.exec("BEGIN");
    session_.exec("SELECT outbox.emit('slow', $1, $2, '{}')", {aggregate, on.key("slow")});
  }
  bool is_silent() {
    return session_.number(
               "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND mode = 'ShareLock'"
               " AND pid = pg_backend_pid() AND objid = 64") == 1;
  }
  void exec(const std::string& sql) { session_.exec(sql); }

 private:
  database session_;
};

// One that is silent, for the leader is awake.
std::unique_ptr<open_writer> silent_writer(const stage& on) {
  return eventually(
      "a writer is silent",
      [&] {
        auto one = std::make_unique<open_writer>(on);
        return one->is_silent() ? std::move(one) : nullptr;
      },
      time_limit);
}

void check_exact(const stage& on) {
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
}

}  // namespace

TEST_CASE("writers ring while the leader sleeps, and under load it wakes up and they are silent") {
  const stage on;
  relay running{on, no_sweep};
  on.await_asleep();
  sleep_lock lock{on};
  ear listener{on};
  for (int i = 1; i <= 5; ++i) {
    on.add_events(1);
    on.await_published(i);
    CHECK(listener.rings() == i);
    CHECK(lock.holder() != 0);  // a single event does not wake it up
  }
  load writers{on, busy};
  lock.await_awake();
  // It may have fallen asleep in between: then another try.
  eventually(
      "200 events leave, and nobody rings",
      [&] {
        lock.await_awake();
        const auto before = listener.rings();
        on.await_published(on.count("published") + 200);
        return listener.rings() == before;
      },
      time_limit);
  writers.stop();
  on.await_drained();
  on.await_asleep();
  check_exact(on);
  running.stop();
}

TEST_CASE("nothing is missed when bursts wake up the leader again and again") {
  const stage on;
  relay running{on, no_sweep};
  sleep_lock lock{on};
  for (int round = 0; round < 5; ++round) {
    on.await_asleep();
    load writers{on, busy};
    lock.await_awake();
    writers.stop();
    on.await_drained();
  }
  on.await_asleep();
  check_exact(on);
  running.stop();
}

TEST_CASE("a silent writer that stays open delays nobody, and its event leaves without a sweep") {
  const stage on;
  relay running{on, no_sweep};
  on.await_asleep();
  sleep_lock lock{on};
  std::unique_ptr<open_writer> slow;
  {
    load writers{on, busy};
    slow = silent_writer(on);
    writers.stop();
  }
  on.await_drained();
  eventually(
      "the leader waits for the silent writer", [&] { return lock.is_waited_for(); }, time_limit);
  CHECK(lock.holder() == 0);
  for (int i = 0; i < 10; ++i) {
    on.add_events(1, 3);
    on.await_drained();
  }
  slow->exec("COMMIT");
  on.await_drained();
  on.await_asleep();
  check_exact(on);
  running.stop();
}

TEST_CASE("a writer that has rung and stays open keeps nobody from falling asleep, and its event leaves") {
  const stage on;
  relay running{on, no_sweep};
  on.await_asleep();
  open_writer slow{on};
  CHECK_FALSE(slow.is_silent());
  {
    load writers{on, busy};
    on.await_published(500);
    writers.stop();
  }
  on.await_drained();
  on.await_asleep();
  slow.exec("COMMIT");
  on.await_drained();
  check_exact(on);
  running.stop();
}

TEST_CASE("a silent writer that rolls back to a savepoint gives back its lock with its events") {
  const stage on;
  relay running{on, no_sweep};
  on.await_asleep();
  std::unique_ptr<open_writer> slow;
  {
    load writers{on, busy};
    eventually(
        "a writer is silent in a subtransaction",
        [&] {
          slow = std::make_unique<open_writer>(on);
          slow->exec("ROLLBACK; BEGIN; SAVEPOINT here");
          slow->exec(fmt::format("SELECT outbox.emit('slow', '2', '{}', '{{}}')", on.key("slow")));
          return slow->is_silent();
        },
        time_limit);
    writers.stop();
  }
  slow->exec("ROLLBACK TO SAVEPOINT here");
  CHECK_FALSE(slow->is_silent());
  on.await_drained();
  on.await_asleep();
  slow->exec(fmt::format("SELECT outbox.emit('slow', '2', '{}', '{{}}')", on.key("slow")));
  CHECK_FALSE(slow->is_silent());
  slow->exec("COMMIT");
  check_exact(on);
  running.stop();
}

TEST_CASE("a leader that is killed asleep or awake leaves nothing to be missed by its successor") {
  const stage on;
  for (const bool asleep : {true, false, true, false}) {
    CAPTURE(asleep);
    relay first{on, no_sweep};
    first.wait_line("leads shard 0 of 1", time_limit);
    relay second{on, no_sweep};
    second.await_connected();
    std::unique_ptr<load> writers;
    std::unique_ptr<open_writer> slow;
    if (asleep) {
      on.await_asleep();
      slow = std::make_unique<open_writer>(on);
      CHECK_FALSE(slow->is_silent());
    } else {
      writers = std::make_unique<load>(on, busy);
      slow = silent_writer(on);
    }
    first.send(SIGKILL);
    on.add_events(1, 10);
    slow->exec("COMMIT");
    if (writers) writers->stop();
    on.await_drained();
    on.await_asleep();
    second.stop();
  }
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
}

TEST_CASE("a leader that is stopped while awake leaves nothing to be missed by its successor") {
  const stage on;
  relay first{on, no_sweep};
  first.wait_line("leads shard 0 of 1", time_limit);
  relay second{on, no_sweep};
  second.await_connected();
  std::unique_ptr<open_writer> slow;
  {
    load writers{on, busy};
    slow = silent_writer(on);
    first.send(SIGTERM);
    slow->exec("COMMIT");
    writers.stop();
  }
  on.await_drained();
  check_exact(on);
  CHECK(first.wait(time_limit).code == 0);
  second.stop();
}

TEST_CASE("while nobody leads writers are silent, and the next leader reads what they wrote") {
  const stage on;
  ear listener{on};
  open_writer open{on};
  CHECK(open.is_silent());
  on.add_events(2, 10);
  CHECK(listener.rings() == 0);
  relay running{on, no_sweep};
  on.await_published(20);
  open.exec("COMMIT");
  on.await_drained();
  on.await_asleep();
  check_exact(on);
  running.stop();
}

TEST_CASE("two-phase writers that are told not to notify leave by the sweep") {
  const stage on;
  auto session = on.connect();
  if (session.number("SELECT current_setting('max_prepared_transactions')::int") == 0) {
    MESSAGE("max_prepared_transactions is 0: nothing to be seen");
    return;
  }
  relay running{on};
  on.await_asleep();
  session.exec("BEGIN");
  session.exec("SELECT outbox.emit('order', '1', $1, '{}')", {on.key()});
  CHECK_THROWS_AS(session.exec(fmt::format("PREPARE TRANSACTION '{}'", on.queue())), database_error);
  session.exec("SET outbox.notify = off");
  for (const bool rolled_back : {false, true, false}) {
    session.exec("BEGIN");
    session.exec("SELECT outbox.emit('order', '1', $1, '{}')", {on.key()});
    session.exec(fmt::format("PREPARE TRANSACTION '{}'", on.queue()));
    session.exec(fmt::format("{} PREPARED '{}'", rolled_back ? "ROLLBACK" : "COMMIT", on.queue()));
  }
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 2);
  running.stop();
}

// PostgreSQL's search for deadlocks has room for as many holders of a lock as there may be sessions.
TEST_CASE("more prepared writers keep the leader awake than the server has room for sessions") {
  const stage on;
  auto session = on.connect();
  const auto sessions = session.number(
      "SELECT sum(setting::int) FROM pg_settings WHERE name IN ('max_connections', 'max_wal_senders',"
      " 'max_worker_processes', 'autovacuum_max_workers')");
  const auto writers = 2 * sessions;
  if (session.number("SELECT current_setting('max_prepared_transactions')::int") < writers + 100) {
    MESSAGE("max_prepared_transactions is too low: nothing to be seen");
    return;
  }
  for (int i = 0; i < writers; ++i) {
    session.exec("BEGIN");
    session.exec("SELECT outbox.emit('order', '1', $1, '{}')", {on.key()});
    session.exec(fmt::format("PREPARE TRANSACTION '{}-{}'", on.queue(), i));
  }
  relay running{on, no_sweep};
  sleep_lock sleep{on};
  for (int tries = 0; tries < 2; ++tries) {
    eventually(
        "the leader asks for SLEEP", [&] { return sleep.is_waited_for(); }, time_limit);
    eventually(
        "its time is up", [&] { return !sleep.is_waited_for(); }, time_limit);
  }
  CHECK(sleep.holder() == 0);
  for (int i = 0; i < writers; ++i) session.exec(fmt::format("COMMIT PREPARED '{}-{}'", on.queue(), i));
  on.await_drained();
  on.await_asleep();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == writers);
  running.stop();
}

TEST_CASE("a writer that is silent for one shard rings for the leader of another one that sleeps") {
  const stage on;
  REQUIRE(run_outboxd({"migrate", "--shards", "2"}, on.variables()).exited(0));
  auto keeps_first_awake = on.connect();
  keeps_first_awake.exec(fmt::format("SELECT pg_advisory_lock_shared({}, {})",
                                     store::lock_class(*pg::schema_name::parse("outbox")), store::sleep_key));
  relay running{on, no_sweep};
  on.await_asleep(1);
  ear listener{on};
  on.add_events(20, 1);
  on.await_drained();
  CHECK(listener.rings() > 0);
  check_exact(on);
  running.stop();
}

TEST_CASE("without the doorbell nobody sleeps, and polling finds everything") {
  const stage on;
  REQUIRE(run_outboxd({"migrate", "--no-notify"}, on.variables()).exited(0));
  relay running{on};
  running.await_connected();
  ear listener{on};
  load writers{on};
  on.await_published(500);
  writers.stop();
  on.await_drained();
  on.add_events(1, 10);
  check_exact(on);
  CHECK(listener.rings() == 0);
  CHECK(sleep_lock(on).holder() == 0);
  running.stop();
}

TEST_CASE("a flood of foreign notifications costs a few reads") {
  const stage on;
  auto session = on.connect();
  relay running{on, no_sweep};
  on.await_asleep();
  for (int i = 0; i < 10; ++i)
    session.exec("SELECT pg_notify('outbox', n::text) FROM generate_series(0, 9999) AS n");
  on.add_events(1, 100);
  check_exact(on);
  on.await_asleep();
  running.stop();
  eventually("the sessions are closed", [&] { return on.relay_sessions() == 0; });
  CHECK(on.index_scans() < 5000);
}

}  // namespace outboxd::test::sleeping_leader_test
