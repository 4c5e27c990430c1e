// connection.blocked: while the broker has an alarm the leader keeps the lead, nothing spins, and work
// resumes after it.
#include <doctest/doctest.h>

#include <set>

#include "asked_relay.hpp"
#include "stage.hpp"
#include "support/servers.hpp"

namespace outboxd::test::blocked_test {
namespace {

// Less than five sweeps, and more than a busy machine takes to confirm.
const arguments quick{"--amqp-confirm-timeout", "4s", "--relay-claim-timeout", "4s"};
constexpr auto said_blocked = "publishing blocked by RabbitMQ";

// Several sweeps go by: after each the session that leads is idle since another time.
void await_sweeps(const stage& on, int sweeps) {
  auto session = on.connect();
  std::set<std::string> times;
  eventually(
      "several sweeps went by",
      [&] {
        const auto now =
            session.exec("SELECT state_change FROM pg_stat_activity WHERE pid = $1 AND state = 'idle'",
                         {std::to_string(on.leader())});
        if (!now.empty()) times.insert(now[0][0].value());
        return times.size() > static_cast<std::size_t>(sweeps);
      },
      time_limit);
}

// A relay that waits for the broker holds no transaction open.
void await_nothing_held(const stage& on) {
  auto session = on.connect();
  eventually("no transaction is open", [&] {
    return session.number(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
               " AND application_name LIKE 'outboxd % on %' AND xact_start IS NOT NULL") == 0;
  });
}

void check_all_arrive(const stage& on, std::size_t events) {
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == events);
  CHECK(on.connect().number("SELECT count(*) FROM outbox.event WHERE attempts > 0 OR deferrals > 0") == 0);
}

}  // namespace

TEST_SUITE("alone") {
  TEST_CASE("events that meet an alarm leave after it, and no transaction stays open meanwhile") {
    const stage on;
    relay running{on, quick};
    running.await_connected();
    memory_alarm alarm;
    on.add_events(5, 100);
    running.wait_line(said_blocked, time_limit);
    await_nothing_held(on);
    alarm.end();
    check_all_arrive(on, 500);
    running.wait_line("publishing unblocked by RabbitMQ", time_limit);
    running.stop();
  }

  TEST_CASE("a relay that starts during an alarm waits, reads nothing in vain, and works after it") {
    const stage on;
    on.add_events(5, 100);
    memory_alarm alarm;
    {
      relay running{on, quick};
      running.wait_line(said_blocked, time_limit);
      await_nothing_held(on);
      on.await_leader();
      await_sweeps(on, 5);  // and a confirm timeout
      CHECK(on.rows_read() < 20 * 500);
      alarm.end();
      check_all_arrive(on, 500);
      running.stop();
    }
  }

  TEST_CASE("a leader that the broker blocks keeps the lead") {
    const stage on;
    asked_relay first{on, quick};
    first.wait_line("leads shard 0 of 1", time_limit);
    const auto leader = on.await_leader();
    relay second{on, quick};
    second.await_connected();
    memory_alarm alarm;
    on.add_events(5, 100);
    first.wait_line(said_blocked, time_limit);
    await_sweeps(first);
    CHECK(on.leader() == leader);
    alarm.end();
    check_all_arrive(on, 500);
    CHECK(on.leader() == leader);
    first.stop();
    second.stop();
  }

  TEST_CASE("a relay stops in time while the broker is blocked") {
    const stage on;
    on.add_events(5, 100);
    memory_alarm alarm;
    relay running{on, {"--relay-shutdown-grace", "1s"}};
    running.wait_line(said_blocked, time_limit);
    running.stop();
    alarm.end();
    eventually(
        "nobody leads", [&] { return on.shards_led() == 0; }, time_limit);
    relay next{on};
    check_all_arrive(on, 500);
    next.stop();
  }
}

}  // namespace outboxd::test::blocked_test
