// What a relay tells of itself over HTTP: figures that agree with the table, and the right reason in each bad
// state.
#include <doctest/doctest.h>

#include "asked_relay.hpp"
#include "load.hpp"
#include "stage.hpp"
#include "support/metrics_text.hpp"
#include "support/servers.hpp"

namespace outboxd::test::monitoring_test {

TEST_CASE("the counters agree with the table, and the times with how often something happened") {
  stage on;
  asked_relay running{on};
  await_ready(running);
  on.add_events(30, 10);
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload) VALUES ('bad', '1', $1, "
      "'{}')",
      {std::string("nowhere.") + on.queue()});
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, routing_key)"
      " VALUES ('bad', '2', $1, '{}', repeat('x', 256))",
      {on.key()});
  on.await_published(300);
  eventually("the one with too long a routing key is dead",
             [&] { return metric(running, "outboxd_events_dead_total") == 1; });
  CHECK(on.count("dead") == 1);
  eventually("the returned one is counted",
             [&] { return metric(running, "outboxd_publish_failures_total{reason=\"returned\"}") >= 1; });
  eventually(
      "the relay knows that all are marked",
      [&] { return metric(running, "outboxd_events_published_total") == 300; }, time_limit);
  CHECK(metric(running, "outboxd_events_dead_total") == 1);
  CHECK(metric(running, "outboxd_publish_seconds_count") >= 300);
  CHECK(metric(running, "outboxd_delivery_seconds_count") >= 300);
  CHECK(metric(running, "outboxd_delivery_seconds_bucket{le=\"3600\"}") >= 300);
  const auto at_once = running.get("/metrics").body;
  CHECK(value_of(at_once, "outboxd_reads_total") == value_of(at_once, "outboxd_read_seconds_count"));
  CHECK(metric(running, "outboxd_marks_total") >= 1);
  CHECK(metric(running, "outboxd_shards_led") == 1);
  CHECK(metric(running, "outboxd_takeovers_total") == 1);
  eventually(
      "both lanes are open and the relay is ready",
      [&] {
        return metric(running, "outboxd_lanes{state=\"open\"}") == 2 && metric(running, "outboxd_ready") == 1;
      },
      time_limit);
  running.stop();
}

TEST_CASE("who stands by is healthy and ready, and tells nothing of the table") {
  stage on;
  asked_relay leads{on};
  on.await_leader();
  asked_relay stands_by{on};
  await_ready(stands_by);
  CHECK(metric(stands_by, "outboxd_shards_led") == 0);
  CHECK(stands_by.get("/metrics").body.find("outboxd_backlog_events") == std::string::npos);
  CHECK(stands_by.get("/healthz").status == 200);
}

TEST_CASE("a database that turns read-only, and back") {
  stage on;
  asked_relay running{on};
  await_ready(running);
  auto session = on.connect();
  const auto set = [&](const char* value) {
    session.exec(fmt::format("ALTER DATABASE \"{}\" SET default_transaction_read_only = {}",
                             on.database_name(), value));
    session.exec("SET default_transaction_read_only = off");
    session.exec(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid "
        "<> pg_backend_pid()");
  };
  set("on");
  await_reason(running, "database_read_only");
  session.exec("SET default_transaction_read_only = off");
  set("off");
  await_ready(running);
  running.stop();
}

TEST_CASE("a database that takes no connections any more, and takes them again") {
  stage on;
  asked_relay running{on};
  await_ready(running);
  database session{required_environment("OUTBOXD_TEST_ADMIN_URL")};  // of another database
  session.exec(fmt::format("ALTER DATABASE \"{}\" ALLOW_CONNECTIONS false", on.database_name()));
  session.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1",
               {on.database_name()});
  await_reason(running, "database_down");
  CHECK(metric(running, "outboxd_database_up") == 0);
  CHECK(metric(running, "outboxd_reconnects_total{peer=\"database\"}") >= 1);
  CHECK(running.get("/metrics").body.find("outboxd_backlog_events") == std::string::npos);
  session.exec(fmt::format("ALTER DATABASE \"{}\" ALLOW_CONNECTIONS true", on.database_name()));
  await_ready(running);
  running.stop();
}

// These change what everybody else at the broker sees.
TEST_SUITE("alone") {
  TEST_CASE("the table's figures: what waits, what is dead, what is due, and how old that is") {
    stage on;
    auto session = on.connect();
    const auto insert = [&](const std::string& rest) {
      session.exec(
          "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, created_at, "
          "available_at) " +
              rest,
          {on.key()});
    };
    insert(
        "SELECT 'order', n, $1, '{}', now() - interval '3 hours', now() - interval '1 hour'"
        " FROM generate_series(1, 40) AS n");
    insert("SELECT 'later', n, $1, '{}', now(), now() + interval '1 day' FROM generate_series(1, 7) AS n");
    insert(
        "SELECT 'timeless', t, $1, '{}', t::timestamptz, t::timestamptz FROM (VALUES ('-infinity'), "
        "('infinity')) AS x(t)");
    session.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception)"
        " VALUES ('gone', '1', 'gone', '{}', 'dead', 'dead'), ('gone', '2', 'gone', '{}', 'dead', 'dead')");
    // It leads and reads, and sends nothing: the broker takes nothing.
    const memory_alarm blocked;
    asked_relay running{on};
    // A leader sets aside what is scheduled when it reads it: the first look at the table may be earlier.
    eventually("the table is looked at, with what is scheduled set aside",
               [&] { return metric(running, "outboxd_events{status=\"waiting\"}") == 7; });
    const auto text = running.get("/metrics").body;
    CHECK(value_of(text, "outboxd_events{status=\"pending\"}") == 42);
    CHECK(value_of(text, "outboxd_events{status=\"dead\"}") == 2);
    CHECK(value_of(text, "outboxd_backlog_events") == 42);
    CHECK(value_of(text, "outboxd_backlog_is_estimate") == 0);
    CHECK(value_of(text, "outboxd_oldest_due_age_seconds") >= 3'600);
    CHECK(value_of(text, "outboxd_oldest_due_age_seconds") < 7'200);
    CHECK(value_of(text, "outboxd_oldest_waiting_age_seconds") == 0);
  }

  TEST_CASE("a broker with an alarm, then none at all, then one that is well") {
    stage on;
    asked_relay running{on};
    await_ready(running);
    {
      const memory_alarm blocked;
      on.add_events(1);
      await_reason(running, "broker_blocked");
      CHECK(metric(running, "outboxd_broker_blocked") == 1);
    }
    await_ready(running);
    on.await_drained();
    running.stop();
  }

  TEST_CASE("the default exchange is gone, and comes back") {
    stage on;
    asked_relay running{on, {"--amqp-declare", "false"}};
    on.add_events(3);
    on.await_drained();
    broker{}.delete_exchange(on.exchange());
    on.add_events(5, 5);
    await_reason(running, "exchange_missing");
    CHECK(metric(running, "outboxd_destinations_down") >= 1);
    broker{}.declare_exchange(on.exchange());
    broker{}.bind(on.queue(), on.exchange(), on.queue() + ".#");
    await_ready(running);
    on.await_drained();
    running.stop();
  }

  TEST_CASE("after faults under load the figures agree with the table") {
    stage on;
    const arguments impatient{"--retry-give-up-after", "1s"};
    asked_relay first{on, impatient};
    on.await_leader();
    asked_relay second{on, impatient};
    load writers{on};
    auto session = on.connect();
    for (int i = 0; i < 3; ++i)
      session.exec(
          "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload) VALUES ('bad', $1, "
          "$2, "
          "'{}')",
          {std::to_string(i), "nowhere." + on.queue()});
    on.await_published(200);
    restart_server({"rabbitmq", "--kill"});
    on.await_published(on.count("published") + 200);
    session.exec(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name LIKE 'outboxd%'");
    on.await_published(on.count("published") + 200);
    eventually(
        "the first one leads",
        [&] { return metric(first, "outboxd_shards_led") == 1 || metric(second, "outboxd_shards_led") == 1; },
        time_limit);
    const bool first_leads = metric(first, "outboxd_shards_led") == 1;
    asked_relay& killed = first_leads ? first : second;
    asked_relay& stays = first_leads ? second : first;
    const double by_killed = metric(killed, "outboxd_events_published_total");
    killed.send(SIGKILL);
    on.await_published(on.count("published") + 200);
    writers.stop();
    const auto report = on.check_all();
    CHECK_MESSAGE(report.sound(), report.words());
    session.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, available_at)"
        " SELECT 'later', n, $1, '{}', now() + interval '1 day' FROM generate_series(1, 2) AS n",
        {on.key()});
    const auto written = session.value("SELECT extract(epoch FROM clock_timestamp())");
    eventually(
        "the table is looked at once more",
        [&] { return metric(stays, "outboxd_sample_timestamp_seconds") > std::stod(written); }, time_limit);
    const auto text = stays.get("/metrics").body;
    for (const std::string status : {"pending", "waiting", "dead"}) {
      CAPTURE(status);
      CHECK(value_of(text, "outboxd_events{status=\"" + status + "\"}") ==
            static_cast<double>(on.count(status)));
    }
    CHECK(on.count("dead") == 3);
    CHECK(on.count("waiting") == 2);
    for (const auto* const none :
         {"outboxd_backlog_events", "outboxd_oldest_due_age_seconds", "outboxd_unsettled_events",
          "outboxd_confirms_in_flight", "outboxd_held_aggregates", "outboxd_destinations_down"})
      CHECK_MESSAGE(value_of(text, none) == 0, none);
    CHECK(value_of(text, "outboxd_ready") == 1);
    // A mark whose answer was lost is counted by nobody.
    const auto published = static_cast<double>(on.count("published"));
    CHECK(value_of(text, "outboxd_events_published_total") >= 200);
    CHECK(value_of(text, "outboxd_events_published_total") + by_killed <= published);
    stays.stop();
  }

}  // TEST_SUITE

}  // namespace outboxd::test::monitoring_test
