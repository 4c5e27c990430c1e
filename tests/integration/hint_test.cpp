// Words on the outbox's channel, which anybody can say, stop nobody, and who floods it is named. Who asks for
// leads by a lock and may have them gets them, for a while.
#include <doctest/doctest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "load.hpp"
#include "login.hpp"
#include "stage.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::test::hint_test {
namespace {

std::string lock_request() {
  return fmt::format("SELECT pg_advisory_lock({}, {})", store::lock_class(*pg::schema_name::parse("outbox")),
                     store::request_key);
}

/// Locks by which leads are asked for, in this database: other tests migrate others.
std::int64_t requests(const stage& on) {
  return on.ask(
      fmt::format("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND classid = "
                  "{}::integer::oid AND objid >= {}::oid AND database = (SELECT oid FROM pg_database WHERE "
                  "datname = current_database())",
                  store::lock_class(*pg::schema_name::parse("outbox")), store::request_key));
}

/// A user without any right on the outbox, who asks for leads by a lock as well, and says all words there
/// are, and others, in a loop: as fast as they are heard. The server's other listeners would have to read
/// through what is not.
class stranger {
 public:
  explicit stranger(const stage& on, int other_words = 0)
      : user_{""},
        session_{user_.url(on) + "?application_name=stranger"},
        other_words_{other_words},
        talk_{[this] { talk(); }} {
    eventually(
        "the stranger has spoken", [this] { return said_ > 100; }, time_limit);
  }
  ~stranger() {
    done_ = true;
    talk_.join();
  }
  stranger(const stranger&) = delete;
  stranger& operator=(const stranger&) = delete;

  std::string told() { return fmt::format("pid {} sends them", session_.backend_pid()); }

 private:
  void talk() {
    session_.exec(lock_request());
    while (!done_) {
      session_.exec(fmt::format(
          "SELECT pg_notify('outbox', w) FROM unnest(array['yield', 'due', 'pause', 'ring']) AS w;"
          "SELECT pg_notify('outbox', 'word ' || n || repeat('x', 1000)) FROM generate_series(1, {}) AS n",
          other_words_));
      ++said_;
      eventually(
          "the stranger is heard",
          [this] { return done_ || session_.value("SELECT pg_notification_queue_usage() < 0.001") == "t"; },
          time_limit);
    }
  }

  login user_;
  database session_;
  int other_words_;
  std::atomic<bool> done_{false};
  std::atomic<int> said_{0};
  std::thread talk_;
};

}  // namespace

TEST_CASE("a stranger who floods the channel with words stops nobody, and is named") {
  const stage on;
  // A busy machine may let no answer through for a while, which is not the stranger's doing.
  relay running{on, {"--relay-claim-timeout", "1m"}};
  const auto leader = on.await_leader();
  stranger other{on, 500};
  on.add_events(20, 20);
  running.wait_line(other.told(), time_limit);
  on.add_events(20, 20);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(on.await_leader() == leader);
  CHECK(running.count_lines("released leadership of shard 0") == 0);
  CHECK(running.count_lines("makes way") == 0);
  CHECK(running.count_lines("notifications do not arrive") == 0);
  running.stop();
}

TEST_CASE("beside a stranger who floods the channel, under load, migrate gets all leads at once") {
  const stage on;
  load writers{on};
  relay running{on};
  on.await_published(300);
  stranger other{on};
  for (const int shards : {4, 16}) {
    const auto done = run_outboxd({"migrate", "--shards", std::to_string(shards)}, on.variables());
    CHECK_MESSAGE(done.exited(0), done.text());
    eventually(
        "all shards are led", [&] { return on.shards_led() == shards; }, time_limit);
  }
  running.wait_line("application outboxd migrate", time_limit);
  writers.stop();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("who may have the lead and asks for ever is named, and events go on") {
  const stage on;
  relay running{on};
  on.await_leader();
  auto asks = on.connect();
  asks.exec(lock_request());
  for (int times = 0; times < 2; ++times) {
    const auto lines = running.lines().size();
    asks.exec("NOTIFY outbox, 'yield'");
    const auto line = running.wait_line("releasing leadership: ", time_limit, lines);
    CHECK_MESSAGE(line.find(fmt::format("pid {} ", asks.backend_pid())) != std::string::npos, line);
    on.add_events(20, 20);
    on.await_published(400 * (times + 1));
  }
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("a migrate that hangs asks for the leads no longer") {
  const stage on;
  relay running{on};
  on.await_leader();
  auto holder = on.connect();
  holder.exec("BEGIN; LOCK TABLE outbox.shard IN SHARE MODE");
  process hangs{{.program = outboxd_binary(),
                 .arguments = {"migrate", "--shards", "2"},
                 .environment = on.variables(),
                 .log_file = {}}};
  hangs.wait_line("trying again", time_limit);
  eventually(
      "it hangs while it asks for leads",
      [&] {
        hangs.send(SIGSTOP);
        if (requests(on) == 1) return true;
        hangs.send(SIGCONT);
        return false;
      },
      time_limit);
  holder.exec("COMMIT");
  eventually(
      "nobody asks for leads", [&] { return requests(on) == 0; }, time_limit);
  on.add_events(20, 20);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  hangs.send(SIGCONT);
  CHECK(hangs.wait(time_limit).code != 0);
  running.stop();
}

}  // namespace outboxd::test::hint_test
