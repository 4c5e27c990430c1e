// Guarantee 8: an event that its destination does not take waits, and is dead only after retry.give_up_after.
// What waits goes out in order when the destination takes it again.
#include <doctest/doctest.h>

#include "asked_relay.hpp"
#include "support/broker_admin.hpp"

namespace outboxd::test::destination_test {
namespace {

// If attempts counted, it would be dead at once.
const arguments one_attempt{"--retry-schedule", "20ms"};

void insert(database& session, const stage& on, int aggregates, int of_each,
            const std::optional<std::string>& exchange = std::nullopt) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, exchange)"
      " SELECT 'order', a, $1, '{}', $4 FROM generate_series(1, $3::int) AS n, generate_series(1, $2::int) "
      "AS a",
      {on.key(), std::to_string(aggregates), std::to_string(of_each), exchange});
}

std::int64_t waiting(database& session, const std::string& code) {
  return session.number(
      "SELECT count(*) FROM outbox.event WHERE exception = 'backing_off' AND waits_for IS NOT NULL"
      " AND first_failed_at <= now() AND last_error_code = $1",
      {code});
}

void check_all(stage& on, std::int64_t delivered) {
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == delivered);
  CHECK(report.dead == 0);
  CHECK(on.connect().number(
            "SELECT count(*) FROM outbox.event WHERE attempts > 0 OR first_failed_at IS NOT NULL") == 0);
}

}  // namespace

TEST_CASE("a binding that is gone for a while: events wait in order, and go out when it is back") {
  stage on;
  relay running{on, one_attempt};
  auto session = on.connect();
  insert(session, on, 10, 2);
  on.await_drained();
  broker{}.unbind(on.queue(), "outbox", on.queue() + ".#");
  insert(session, on, 20, 5);
  running.wait_line("does not accept events");
  eventually("all of them wait", [&] {
    return session.number("SELECT count(*) FROM outbox.event WHERE status = 'pending'") == 0;
  });
  CHECK(waiting(session, "returned") == 20);
  broker{}.bind(on.queue(), "outbox", on.queue() + ".#");
  running.wait_line("accepts events again");
  check_all(on, 120);
  running.stop();
}

// RabbitMQ 3.10 goes on refusing on channels that are open when the policy goes: nobody tells them.
TEST_CASE("a policy that made a full queue refuse is taken away: its events go out without a restart") {
  stage on;
  broker{}.delete_queue(on.queue());
  broker{}.declare_queue(on.queue(), queue_type::quorum);
  broker{}.bind(on.queue(), "outbox", on.queue() + ".#");
  const std::string full = on.queue() + "-full";
  relay running{on};
  auto session = on.connect();
  insert(session, on, 10, 1);
  on.await_drained();
  set_policy({.name = full,
              .pattern = "^" + on.queue() + "$",
              .definition = R"([{<<"max-length">>, 1}, {<<"overflow">>, <<"reject-publish">>}])"});
  insert(session, on, 20, 3);
  running.wait_line("does not accept events");
  clear_policy(full);
  running.wait_line("accepts events again");
  check_all(on, 70);
  running.stop();
}

TEST_CASE("an exchange that is deleted for a while: the same, and others' events go on") {
  stage on;
  const std::string exchange = on.queue() + "-other";
  broker{}.declare_exchange(exchange);
  broker{}.bind(on.queue(), exchange, on.queue() + ".#");
  relay running{on, one_attempt};
  auto session = on.connect();
  insert(session, on, 5, 2, exchange);
  on.await_drained();
  broker{}.delete_exchange(exchange);
  insert(session, on, 20, 3, exchange);
  running.wait_line("does not accept events");
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'bill', a, $1, '{}' FROM generate_series(1, 50) AS a",
      {on.key()});
  eventually("the others are published", [&] {
    return session.number(
               "SELECT count(*) FROM outbox.event WHERE aggregate_type = 'bill' AND status = 'published'") ==
           50;
  });
  broker{}.declare_exchange(exchange);
  broker{}.bind(on.queue(), exchange, on.queue() + ".#");
  running.wait_line("accepts events again");
  check_all(on, 120);
  running.stop();
  broker{}.delete_exchange(exchange);
}

TEST_CASE("another leader that meets the outage blames nobody, too") {
  stage on;
  auto session = on.connect();
  {
    relay running{on, one_attempt};
    insert(session, on, 3, 1);
    on.await_drained();
    broker{}.unbind(on.queue(), "outbox", on.queue() + ".#");
    insert(session, on, 3, 3);
    running.wait_line("does not accept events");
    eventually("all of them wait", [&] {
      return session.number("SELECT count(*) FROM outbox.event WHERE status = 'pending'") == 0;
    });
    running.stop();
  }
  relay next{on, one_attempt};
  next.wait_line("does not accept events");
  broker{}.bind(on.queue(), "outbox", on.queue() + ".#");
  check_all(on, 12);
  next.stop();
}

TEST_CASE("keys in thousands that fail at their first event: all of them go out when the binding is back") {
  constexpr int keys = 3'000;
  stage on;
  relay running{on, one_attempt};
  auto session = on.connect();
  broker{}.unbind(on.queue(), "outbox", on.queue() + ".#");
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', a, $1 || '.created.' || a, '{}' FROM generate_series(1, $2::int) AS a",
      {on.queue(), std::to_string(keys)});
  eventually("all of them wait", [&] { return waiting(session, "returned") == keys; });
  broker{}.bind(on.queue(), "outbox", on.queue() + ".#");
  check_all(on, keys);
  running.stop();
  CHECK_MESSAGE(running.all_lines().size() < 20, running.tail());
}

TEST_CASE("a consumer that is gone for good: its events are dead in time, and those behind them go out") {
  constexpr int orders = 200;
  stage on;
  relay running{on, {"--retry-give-up-after", "3s"}};
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', a, k, '{}' FROM generate_series(1, $3::int) AS a, unnest(ARRAY[$1, $2]) AS k"
      " ORDER BY a, k = $2",
      {"unbound-" + on.queue(), on.key(), std::to_string(orders)});
  eventually("the first of each waits, and the second one behind it", [&] {
    return session.number("SELECT count(*) FROM outbox.event WHERE exception IN ('backing_off', 'parked')") ==
           2 * orders;
  });
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == orders);
  CHECK(report.dead == orders);
  CHECK(session.number(
            "SELECT count(*) FROM outbox.event WHERE status = 'dead' AND last_error_code = 'returned'"
            " AND last_error LIKE 'given up after 3 s: %returned by the broker: 312 NO_ROUTE%'"
            " AND attempts = 0") == orders);
  running.stop();
  CHECK(running.count_lines("does not accept events") == 1);
  CHECK(running.count_lines(" is dead") <= 1);
}

TEST_CASE("reply queues that are gone for good cost a few probes a second, and no row is written again") {
  constexpr int queues = 600;
  stage on;
  asked_relay running{on};
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, exchange, routing_key)"
      " SELECT 'reply', q, 'reply', '{}', '', $1 || q FROM generate_series(1, $2::int) AS q,"
      " generate_series(1, 2)",
      {on.queue() + ".reply.", std::to_string(queues)});
  eventually("one of each waits, and one behind it", [&] {
    return session.number("SELECT count(*) FROM outbox.event WHERE exception IN ('backing_off', 'parked')") ==
           2 * queues;
  });
  const auto versions = [&] {
    return session.number("SELECT sum(xmin::text::bigint) FROM outbox.event WHERE aggregate_type = 'reply'");
  };
  const auto failures = [&] {
    return metric(running, "outboxd_publish_failures_total{reason=\"returned\"}");
  };
  CHECK(metric(running, "outboxd_destinations_down") == queues);
  const auto written = versions();
  const auto before = failures();
  const auto since = std::chrono::steady_clock::now();
  on.add_events(20, 20);
  on.await_published(20);
  eventually("100 probes have failed", [&] { return failures() >= before + 100; });
  // 20 a second, of which one second's may have been saved up. A slow machine makes them fewer.
  CHECK(std::chrono::steady_clock::now() - since > 3s);
  CHECK(versions() == written);
  running.stop();
}

TEST_CASE("a full queue among several: the others get one copy with each probe") {
  const stage on;
  const std::string full = on.queue() + "-full";
  const std::string exchange = on.queue() + "-all";
  broker{}.declare_exchange(exchange);
  broker{}.declare_queue(full, queue_type::classic);
  for (const auto& queue : {on.queue(), full}) broker{}.bind(queue, exchange, "#");
  set_policy({.name = full,
              .pattern = "^" + full + "$",
              .definition = R"([{<<"max-length">>, 1}, {<<"overflow">>, <<"reject-publish">>}])"});
  asked_relay running{on};
  auto session = on.connect();
  insert(session, on, 1, 2, exchange);
  const auto failures = [&] { return metric(running, "outboxd_publish_failures_total{reason=\"nacked\"}"); };
  eventually("the second one fails again and again", [&] { return failures() >= 4; });
  clear_policy(full);
  on.await_published(2);
  const auto sent = failures() + 1;
  running.stop();
  const auto copies = broker{}.message_count(on.queue()) - 1;  // the first event came once
  CHECK(copies >= 5);
  CHECK(copies <= sent);
  broker{}.delete_queue(full);
  broker{}.delete_exchange(exchange);
}

TEST_SUITE("alone") {
  TEST_CASE("the relay's own exchange is declared again when it was deleted, and no event is blamed for it") {
    stage on;
    relay running{on, one_attempt};
    auto session = on.connect();
    insert(session, on, 2, 1);
    on.await_drained();
    broker{}.delete_exchange("outbox");
    insert(session, on, 2, 10);
    eventually("their heads wait for it", [&] { return waiting(session, "refused") == 2; });
    // The relay declares the exchange; the binding was the consumer's.
    eventually("the exchange is there again", [&] {
      try {
        broker{}.bind(on.queue(), "outbox", on.queue() + ".#");
        return true;
      } catch (const broker_error&) {
        return false;
      }
    });
    check_all(on, 22);
    running.stop();
  }
}

}  // namespace outboxd::test::destination_test
