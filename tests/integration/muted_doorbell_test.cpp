// Under load the relay has the writers keep silent, and no wake-up is missed when it stops to: the sweep is an hour away.
#include <doctest/doctest.h>

#include "load.hpp"
#include "stage.hpp"

namespace outboxd::test {
namespace {

const arguments no_sweep{"--relay-sweep-interval", "1h"};
constexpr load_options busy{.writers = 4, .pause_seconds = 0};

enum lock_key { mute = 64, skip = 65 };

// The processes that have one of the doorbell's locks.
class doorbell_locks {
 public:
  explicit doorbell_locks(const stage& on) : session_{on.connect()} {}

  // 0: nobody has it exclusively.
  std::int64_t muter() {
    return session_.number(
        "SELECT coalesce(max(pid), 0) FROM pg_locks WHERE locktype = 'advisory' AND granted"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        " AND classid = 'outbox.event'::regclass AND objid = 64 AND mode = 'ExclusiveLock'");
  }
  std::int64_t await_muter(std::int64_t but = 0) {
    return eventually(
        "a relay has the writers keep silent",
        [&] {
          const auto pid = muter();
          return pid == but ? 0 : pid;
        },
        patience);
  }
  void await_sleep() {
    eventually(
        "nobody keeps the writers silent", [&] { return muter() == 0; }, patience);
  }
  bool terminate(std::int64_t pid) {
    return session_.value("SELECT pg_terminate_backend($1::int)", {std::to_string(pid)}) == "t";
  }
  // The session that listens: it sweeps and tries itself. It may be about to connect again.
  std::int64_t await_listener() {
    return eventually(
        "a session of the relay listens",
        [&] {
          return session_.number(
              "SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE datname = current_database()"
              " AND application_name = 'outboxd' AND query ~ 'sweep\\(|pg_notify\\(''outboxd_probe'");
        },
        patience);
  }
  database& session() { return session_; }

 private:
  database session_;
};

// Someone else who listens.
class ear {
 public:
  explicit ear(const stage& on) : session_{on.connect()} { session_.exec("LISTEN outbox"); }

  int heard() {
    session_.exec("SELECT 1");  // notifications of before have arrived with its answer
    while (PGnotify* const one = PQnotifies(session_.handle())) {
      PQfreemem(one);
      ++heard_;
    }
    return heard_;
  }

 private:
  database session_;
  int heard_ = 0;
};

// A transaction with one event in it, open until it is told to end.
class open_writer {
 public:
  explicit open_writer(const stage& on) : session_{on.connect()} {
    session_.exec("BEGIN");
    session_.exec("SELECT outbox.emit('slow', '1', $1, '{}')", {on.key("slow")});
  }
  bool has(lock_key which) {
    return session_.number(
               "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
               " AND pid = pg_backend_pid() AND objid = $1",
               {std::to_string(which)}) == 1;
  }
  void commit() { session_.exec("COMMIT"); }
  void roll_back() { session_.exec("ROLLBACK"); }

 private:
  database session_;
};

// One that has kept silent; only while somebody mutes.
std::unique_ptr<open_writer> silent_writer(const stage& on) {
  return eventually(
      "a writer keeps silent",
      [&] {
        auto one = std::make_unique<open_writer>(on);
        return one->has(skip) && !one->has(mute) ? std::move(one) : nullptr;
      },
      patience);
}

void check_exact(const stage& on) {
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
}

}  // namespace

TEST_CASE("a commit carries no notification while a relay is awake, and one again when it sleeps") {
  const stage on;
  relay running{on, no_sweep};
  running.await_connected();
  doorbell_locks locks{on};
  load writers{on, busy};
  // Perhaps it slept a moment in between: then another try.
  eventually(
      "200 events leave without a sound",
      [&] {
        const auto muter = locks.await_muter();
        const auto since = [&] {
          return locks.session().value(
              "SELECT coalesce(max(virtualtransaction), '') FROM pg_locks WHERE locktype = 'advisory'"
              " AND objid = 64 AND granted AND pid = $1",
              {std::to_string(muter)});
        };
        const auto began = since();
        ear nobody{on};
        const auto before = nobody.heard();  // of those who rang and had not ended yet
        on.await_published(on.count("published") + 200);
        const auto after = nobody.heard();
        return !began.empty() && since() == began && after == before;
      },
      patience);
  writers.stop();
  on.await_drained();
  locks.await_sleep();
  ear somebody{on};
  on.add_events(1);
  eventually("the notification is heard", [&] { return somebody.heard() > 0; });
  on.await_drained();
  check_exact(on);
  running.stop();
}

TEST_CASE("single events do not have the writers keep silent") {
  const stage on;
  relay running{on, no_sweep};
  running.await_connected();
  doorbell_locks locks{on};
  for (int i = 1; i <= 5; ++i) {
    on.add_events(1);
    on.await_published(i);
    CHECK(locks.muter() == 0);
  }
  running.stop();
}

TEST_CASE("no wake-up is missed when bursts make the relay hot again and again") {
  const stage on;
  relay running{on, no_sweep};
  running.await_connected();
  doorbell_locks locks{on};
  for (int round = 0; round < 5; ++round) {
    load writers{on, busy};
    locks.await_muter();
    writers.stop();
    on.await_drained();
  }
  locks.await_sleep();
  check_exact(on);
  running.stop();
}

TEST_CASE("a relay that is killed while hot silences nobody, and its successor finds everything") {
  const stage on;
  doorbell_locks locks{on};
  {
    relay running{on, no_sweep};
    running.await_connected();
    load writers{on, busy};
    locks.await_muter();
  }
  locks.await_sleep();
  ear somebody{on};
  on.add_events(1);
  eventually("the notification is heard", [&] { return somebody.heard() > 0; });
  relay next{on, no_sweep};
  on.await_drained();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  next.stop();
}

TEST_CASE(
    "a relay that hangs while hot loses the lock after claim_timeout, and misses nothing when it goes on") {
  const stage on;
  relay running{on, {"--relay-claim-timeout", "2s", "--amqp-confirm-timeout", "1s"}};
  running.await_connected();
  doorbell_locks locks{on};
  {
    load writers{on, busy};
    const auto muter = locks.await_muter();
    eventually("it holds back no vacuum", [&] {
      return locks.session().number(
                 "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND backend_xmin IS NOT NULL",
                 {std::to_string(muter)}) == 0;
    });
    running.send(SIGSTOP);
    locks.await_sleep();
  }
  ear somebody{on};
  on.add_events(1);
  eventually("the notification is heard", [&] { return somebody.heard() > 0; });
  running.send(SIGCONT);
  on.await_drained();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  running.stop();
}

TEST_CASE("sessions of the doorbell that are ended while it is hot cost no wake-up") {
  const stage on;
  relay running{on, no_sweep};
  running.await_connected();
  doorbell_locks locks{on};
  for (int round = 0; round < 3; ++round) {
    load writers{on, busy};
    const auto muter = locks.await_muter();
    CHECK(locks.terminate(muter));
    locks.await_muter(muter);  // it gets hot again in another session
    CHECK(locks.terminate(locks.await_listener()));
    on.await_published(on.count("published") + 100);
    writers.stop();
    on.await_drained();
  }
  locks.await_sleep();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  running.stop();
}

TEST_CASE("of two relays one has the writers keep silent, and the other one takes over when it is killed") {
  const stage on;
  relay first{on, {}, {{"PGAPPNAME", "first"}}};
  relay second{on, {}, {{"PGAPPNAME", "second"}}};
  first.await_connected();
  second.await_connected();
  doorbell_locks locks{on};
  load writers{on, busy};
  const auto muter = locks.await_muter();
  CHECK(locks.session().number("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND"
                               " classid = 'outbox.event'::regclass") == 0);
  const bool by_first = locks.session().value("SELECT application_name FROM pg_stat_activity WHERE pid = $1",
                                              {std::to_string(muter)}) == "first";
  (by_first ? first : second).send(SIGKILL);
  locks.await_muter(muter);
  on.await_published(on.count("published") + 200);
  writers.stop();
  on.await_drained();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  (by_first ? second : first).stop();
}

TEST_CASE("a relay that is stopped while hot leaves no wake-up to be missed by the other one") {
  const stage on;
  relay first{on, no_sweep, {{"PGAPPNAME", "first"}}};
  relay second{on, no_sweep, {{"PGAPPNAME", "second"}}};
  first.await_connected();
  second.await_connected();
  doorbell_locks locks{on};
  std::unique_ptr<open_writer> slow;
  {
    load writers{on, busy};
    locks.await_muter();
    slow = silent_writer(on);
    const bool by_first =
        locks.session().number(
            "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND application_name = 'first'",
            {std::to_string(locks.await_muter())}) == 1;
    (by_first ? first : second).send(SIGTERM);
    slow->commit();
    writers.stop();
  }
  on.await_drained();
  check_exact(on);
}

TEST_CASE("a flood of foreign notifications costs a few looks") {
  const stage on;
  auto session = on.connect();
  session.exec(fmt::format("ALTER DATABASE {} SET track_functions = 'pl'", on.database_name()));
  relay running{on, no_sweep};
  running.await_connected();
  doorbell_locks locks{on};
  for (int i = 0; i < 10; ++i)
    session.exec("SELECT pg_notify('outbox', n::text) FROM generate_series(1, 10000) AS n");
  on.add_events(1, 100);
  on.await_drained();
  locks.await_sleep();
  check_exact(on);
  running.stop();
  eventually("the sessions are closed", [&] { return on.relay_sessions() == 0; });
  CHECK(session.number(
            "SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = 'take_shards'") <
        5000);
}

TEST_CASE("a writer who has rung and goes on delays nobody, and the others keep silent all the same") {
  const stage on;
  relay running{on, no_sweep};
  running.await_connected();
  doorbell_locks locks{on};
  open_writer slow{on};
  CHECK(slow.has(mute));
  {
    load writers{on, busy};
    auto silent = silent_writer(on);  // although the relay cannot have the lock
    CHECK(locks.muter() == 0);
    on.await_published(200);
    silent->roll_back();
    writers.stop();
  }
  on.await_drained();
  // The relay's question for the lock holds a snapshot for a bounded time.
  eventually("no session of the relay holds back vacuum", [&] {
    return locks.session().number(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
               " AND application_name = 'outboxd' AND backend_xmin IS NOT NULL") == 0;
  });
  on.add_events(1, 3);
  on.await_drained();
  slow.commit();
  on.await_drained();
  check_exact(on);
  running.stop();
}

TEST_CASE(
    "a writer who has kept silent and goes on delays nobody, and its own event leaves without a sweep") {
  const stage on;
  relay running{on, no_sweep};
  running.await_connected();
  doorbell_locks locks{on};
  std::unique_ptr<open_writer> slow;
  {
    load writers{on, busy};
    locks.await_muter();
    slow = silent_writer(on);
    writers.stop();
  }
  on.await_drained();
  locks.await_sleep();
  ear somebody{on};
  on.add_events(1, 3);
  eventually("the others ring", [&] { return somebody.heard() > 0; });
  on.await_drained();
  slow->commit();
  on.await_drained();
  check_exact(on);
  running.stop();
}

}  // namespace outboxd::test
