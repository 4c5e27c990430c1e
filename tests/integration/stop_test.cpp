// Guarantee 11: a stop drains, gives back the rest, leaves nothing behind, and ends within its grace.
#include <doctest/doctest.h>

#include "load.hpp"
#include "stage.hpp"
#include "support/servers.hpp"
#include "support/suspended_queue.hpp"

namespace outboxd::test::stop_test {
namespace {

void stop_under_load(int signal) {
  const stage on;
  on.add_events(200, 50);
  load writers{on};
  relay stopped{on, {"--relay-batch", "50"}};
  on.await_published(1000);
  stopped.stop(signal);
  CHECK(on.count("pending") > 0);  // or it was no stop under load
  eventually("the sessions are closed", [&] { return on.relay_sessions() == 0; });
  CHECK(on.connect().number("SELECT count(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database"
                            " WHERE d.datname = current_database() AND l.locktype = 'advisory'"
                            " AND l.mode = 'ExclusiveLock'") == 0);
  writers.stop();
  relay next{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());  // not even a duplicate: a stop is no fault
  next.stop();
}

}  // namespace

TEST_CASE("SIGTERM under load exits 0 with nothing lost, nothing twice and no lock left") {
  stop_under_load(SIGTERM);
}

TEST_CASE("SIGINT under load does the same") {
  stop_under_load(SIGINT);
}

TEST_CASE("a relay under nohup outlives its terminal") {
  const stage on;
  auto variables = on.variables();
  process running{{.program = "/usr/bin/nohup",
                   .arguments = {outboxd_binary(), "run"},
                   .environment = variables,
                   .log_file = {}}};
  running.wait_line("leads shard 0 of 1", time_limit);
  running.send(SIGHUP);
  on.add_events(1, 10);
  on.await_published(10);
  running.send(SIGTERM);
  CHECK(running.wait(time_limit).code == 0);
}

TEST_CASE("SIGUSR1 and SIGUSR2 change nothing") {
  const stage on;
  relay running{on};
  running.await_connected();
  for (const int unused : {SIGUSR1, SIGUSR2}) running.send(unused);
  on.add_events(1, 10);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("SIGTERM before anything is connected exits 0") {
  const stage on;
  relay nowhere{on,
                {},
                {{"OUTBOXD_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none"},
                 {"OUTBOXD_AMQP_URL", "amqp://127.0.0.1:1"}}};
  nowhere.wait_line("trying again", time_limit);
  nowhere.stop();
}

TEST_CASE("SIGTERM while a queue never confirms gives the lead back and exits 0 after the grace") {
  const stage on;
  const std::string stuck = on.queue() + "-stuck";
  broker{}.declare_queue(stuck);
  broker{}.bind(stuck, "outbox", stuck);
  relay stopped{on, {"--relay-lanes", "1", "--relay-shutdown-grace", "1s", "--amqp-confirm-timeout", "1h"}};
  stopped.await_connected();
  {
    const suspended_queue hangs{stuck};
    on.connect().exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, routing_key)"
        " VALUES ('order', 'stuck', $1, '{}', $1)",
        {stuck});
    eventually(
        "it is on its way", [&] { return on.rows_read() >= 1; }, time_limit);
    on.add_events(1, 10);
    on.await_published(10);  // their confirms tell that its own is missing
    stopped.stop();
    eventually("the sessions are closed", [&] { return on.relay_sessions() == 0; });
    CHECK(on.shards_led() == 0);
    CHECK(on.count("pending") == 1);
  }
  relay next{on};
  on.await_drained();
  CHECK(on.count("published") == 11);
  next.stop();
  broker{}.delete_queue(stuck);
}

TEST_SUITE_BEGIN("alone");

TEST_CASE("SIGTERM while the broker is frozen gives the lead back and exits 0 after the grace") {
  const stage on;
  relay stopped{on, {"--relay-shutdown-grace", "1s"}};
  stopped.await_connected();
  {
    const frozen_broker frozen;
    on.add_events(10, 100);
    eventually(
        "events are on their way", [&] { return on.rows_read() >= 1000; }, time_limit);
    stopped.stop();
    eventually("the sessions are closed", [&] { return on.relay_sessions() == 0; });
    CHECK(on.shards_led() == 0);
    CHECK(on.count("pending") == 1000);
  }
  relay next{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  next.stop();
}

TEST_CASE("a second SIGTERM ends at once") {
  const stage on;
  relay stopped{on,
                {"--relay-shutdown-grace", "1h", "--amqp-confirm-timeout", "1h", "--amqp-heartbeat", "1h"}};
  stopped.await_connected();
  const frozen_broker frozen;
  on.add_events(10, 100);
  eventually(
      "events are on their way", [&] { return on.rows_read() >= 1000; }, time_limit);
  stopped.send(SIGTERM);
  stopped.wait_line("stopping", time_limit);
  CHECK(stopped.running());
  stopped.send(SIGHUP);  // no second signal: service managers send it behind SIGTERM
  stopped.send(SIGHUP);
  stopped.send(SIGTERM);
  CHECK(stopped.wait(time_limit).code == 128 + SIGTERM);
  eventually("the sessions are closed", [&] { return on.relay_sessions() == 0; });
}

TEST_SUITE_END();

}  // namespace outboxd::test::stop_test
