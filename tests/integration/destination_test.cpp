// Guarantee 8: a destination that has worked and stops working is an outage: nobody is blamed, nobody dies,
// and order is kept.
#include <doctest/doctest.h>

#include "stage.hpp"
#include "support/broker_admin.hpp"

namespace outboxd::test::destination_test {
namespace {

// Attempts that count would be used up at once.
const arguments one_attempt{"--retry-schedule", "20ms"};

void insert(database& session, const stage& on, int aggregates, int of_each,
            const std::optional<std::string>& exchange = std::nullopt) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, exchange)"
      " SELECT 'order', a, $1, '{}', $4 FROM generate_series(1, $3::int) AS n, generate_series(1, $2::int) "
      "AS a",
      {on.key(), std::to_string(aggregates), std::to_string(of_each), exchange});
}

void check_all(stage& on, std::int64_t delivered) {
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == delivered);
  CHECK(report.dead == 0);
  CHECK(on.connect().number("SELECT count(*) FROM outbox.event WHERE attempts > 0") == 0);
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
  running.wait_line("has stopped working");
  eventually("all of them wait", [&] {
    return session.number("SELECT count(*) FROM outbox.event WHERE status = 'pending'") == 0;
  });
  CHECK(session.number(
            "SELECT count(*) FROM outbox.event WHERE last_error_code IN ('destination_down', 'not_sent')") ==
        20);
  broker{}.bind(on.queue(), "outbox", on.queue() + ".#");
  running.wait_line("works again");
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
  running.wait_line("has stopped working");
  clear_policy(full);
  running.wait_line("works again");
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
  running.wait_line("has stopped working");
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
  running.wait_line("works again");
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
    running.wait_line("has stopped working");
    eventually("all of them wait", [&] {
      return session.number("SELECT count(*) FROM outbox.event WHERE status = 'pending'") == 0;
    });
    running.stop();
  }
  relay next{on, one_attempt};
  next.wait_line("has stopped working");
  broker{}.bind(on.queue(), "outbox", on.queue() + ".#");
  check_all(on, 12);
  next.stop();
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
    eventually("their heads wait for it", [&] {
      return session.number(
                 "SELECT count(*) FROM outbox.event WHERE last_error_code IN ('destination_down', "
                 "'not_sent')") == 2;
    });
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
