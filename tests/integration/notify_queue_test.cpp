// The queue of notifications, which all databases of a server share, is full because somebody listens in a
// transaction: writers commit, events go out, commands work, and the session at fault is named.
#include <doctest/doctest.h>

#include "asked_relay.hpp"
#include "postgres_node.hpp"
#include "stage.hpp"

namespace outboxd::test::notify_queue_test {
namespace {

// Half a megabyte, and not eight gigabytes.
const std::vector<std::string> small_queue{"max_notify_queue_pages=64"};

// Whether a test can fill the queue: PostgreSQL 17 is the first whose size can be set.
bool can_be_small() {
  const bool can = stage{{.migrated = false}}.connect().number("SHOW server_version_num") >= 170'000;
  if (!can) MESSAGE("skipped: this PostgreSQL's queue of notifications has 8 GB, whatever is set");
  return can;
}

// Somebody else, in another database of the server.
class neighbour {
 public:
  explicit neighbour(const postgres_node& server) : listener_{server.connect()}, talker_{server.connect()} {}

  int listener() const { return listener_.backend_pid(); }
  void listen_in_a_transaction() {
    listener_.exec("LISTEN app");
    listener_.exec("BEGIN");
    listener_.exec("SELECT 1");
  }
  void commit() { listener_.exec("COMMIT"); }
  double usage() { return std::stod(talker_.value("SELECT pg_notification_queue_usage()")); }
  void fill_to(double part) {
    while (usage() < part) talk(7'000);
  }
  // Until not even a short one has room.
  void fill() {
    for (const int bytes : {7'000, 100, 1})
      while (talk(bytes)) {
      }
  }

 private:
  // False: there is no room for it.
  bool talk(int bytes) {
    try {
      talker_.exec("SELECT pg_notify('app', repeat('x', $1::int))", {std::to_string(bytes)});
      return true;
    } catch (const database_error& why) {
      CHECK(why.sqlstate == "54000");
      return false;
    }
  }

  database listener_;
  database talker_;
};

std::string warnings(const asked_relay& of) {
  const auto answer = of.get("/readyz");
  CHECK(answer.status == 200);
  const auto told = nlohmann::json::parse(answer.body);
  std::string out;
  for (const auto& one : told.at("warnings"))
    out += fmt::format("{}: {}\n", one.at("code").get<std::string>(), one.at("message").get<std::string>());
  return out;
}

bool sleeps(const asked_relay& of) {
  return metric(of, "outboxd_doorbell_asleep") == 1;
}

void await_sleeping(const asked_relay& of, bool wanted) {
  eventually(
      wanted ? "the leader sleeps" : "the leader is awake", [&] { return sleeps(of) == wanted; }, time_limit);
}

program_result run(const stage& on, const arguments& words) {
  return run_outboxd(words, on.variables());
}

}  // namespace

TEST_CASE(
    "a queue of notifications that fills wakes the leader, and a full one fails no writer and stops no "
    "relay") {
  if (!can_be_small()) return;
  const postgres_node server{small_queue};
  const stage on{{.server_url = server.url()}};
  neighbour other{server};
  {
    asked_relay running{on, {}, hasty};
    await_sleeping(running, true);
    CHECK(warnings(running).empty());
    other.listen_in_a_transaction();
    other.fill_to(0.1);
    await_sleeping(running, false);
    running.wait_line("the notification queue, which", time_limit);
    other.fill();
    on.add_events(5, 4);
    on.await_drained();
    eventually(
        "a queue that fills is a warning, and the relay is ready",
        [&] {
          const auto all = warnings(running);
          return all.starts_with("notification_queue: ") &&
                 all.find("`outboxd check` names the session") != std::string::npos;
        },
        time_limit);
    CHECK(metric(running, "outboxd_notification_queue_usage") > 0.9);
    CHECK_FALSE(sleeps(running));
    running.stop();
  }
  asked_relay next{on};  // one that begins now
  on.add_events(5, 4);
  on.await_drained();
  await_ready(next);
  CHECK(metric(next, "outboxd_reconnects_total{peer=\"database\"}") == 0);
  CHECK_FALSE(sleeps(next));
  other.commit();
  next.wait_line("the notification queue has room again", time_limit);
  await_sleeping(next, true);
  CHECK(warnings(next).empty());
  on.add_events(1);
  on.await_drained();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  next.stop();
}

// Who leads is stopped in its sleep, and cannot wake up.
TEST_CASE("a leader that hangs in its sleep while the queue fills has no writer fail") {
  if (!can_be_small()) return;
  const postgres_node server{small_queue};
  const stage on{{.server_url = server.url()}};
  neighbour other{server};
  asked_relay running{on, {"--relay-claim-timeout", "1h"}};
  await_sleeping(running, true);
  running.freeze(on);
  other.listen_in_a_transaction();
  other.fill();
  on.add_events(5, 4);
  ::kill(running.pid(), SIGCONT);
  on.await_drained();
  running.stop();
}

TEST_CASE("commands do their work beside a full queue of notifications, and say that relays were not told") {
  if (!can_be_small()) return;
  const postgres_node server{small_queue};
  const stage on{{.server_url = server.url()}};
  auto session = on.connect();
  const auto dead = session.value(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception,"
      " last_error) VALUES ('order', '1', $1, '{}', 'dead', 'dead', 'the reason') RETURNING id",
      {on.key()});
  neighbour other{server};
  asked_relay running{on};
  await_sleeping(running, true);
  other.listen_in_a_transaction();
  other.fill();
  for (const arguments& words : {arguments{"pause", "--all"}, arguments{"dead", "retry", "--id", dead},
                                 arguments{"resume", "--all"}}) {
    CAPTURE(words.front());
    const auto done = run(on, words);
    CAPTURE(done.text());
    CHECK(done.exited(0));
    CHECK(done.says("relays were not told"));
  }
  on.await_published(1);
  const auto checked = run(on, {"check"});
  CAPTURE(checked.text());
  CHECK(checked.says(fmt::format("pid {} ", other.listener())));
  CHECK(checked.says(fmt::format("SELECT pg_terminate_backend({})", other.listener())));
  // By hand, too: nobody's transaction fails.
  session.exec("UPDATE outbox.event SET status = 'pending'");
  on.await_published(1);
  on.await_drained();
  CHECK(run(on, {"migrate"}).exited(0));
  running.stop();
}

}  // namespace outboxd::test::notify_queue_test
