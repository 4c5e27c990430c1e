// Guarantee 7: a queue that never confirms holds up its own events, and nobody else's; each of them waits
// with a pause that grows.
#include <doctest/doctest.h>

#include "stage.hpp"
#include "support/suspended_queue.hpp"

namespace outboxd::test::silent_queue_test {
namespace {

void insert(database& session, const std::string& aggregates, const std::string& routing_key, int count) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, routing_key)"
      " SELECT 'order', $1 || (n % 50), $2, '{}', $2 FROM generate_series(1, $3::int) AS n",
      {aggregates, routing_key, std::to_string(count)});
}

}  // namespace

TEST_CASE("events into a queue that never confirms wait with growing pauses, and all others go out once") {
  const stage on;
  const std::string stuck = on.queue() + "-stuck";
  broker{}.declare_queue(stuck);
  broker{}.bind(stuck, "outbox", stuck);
  auto session = on.connect();
  relay running{on, {"--amqp-confirm-timeout", "10s", "--relay-lanes", "1"}};
  running.await_connected();
  {
    const suspended_queue hangs{stuck};
    insert(session, "stuck", stuck, 3);
    insert(session, "good", on.key(), 2'000);
    eventually("the others are published", [&] {
      return session.number("SELECT count(*) FROM outbox.event WHERE status = 'published'") == 2'000;
    });
    eventually(
        "those of the queue wait",
        [&] {
          insert(session, "more", on.key(), 1);  // something has to be confirmed meanwhile
          return session.number(
                     "SELECT count(*) FROM outbox.event WHERE last_error_code = 'unconfirmed'"
                     " AND status = 'waiting'") > 0 &&
                 session.number(
                     "SELECT count(*) FROM outbox.event WHERE status = 'pending'"
                     " AND routing_key = '" +
                     stuck + "'") == 0;
        },
        time_limit);
    CHECK(session.number("SELECT count(*) FROM outbox.event WHERE attempts > 0") == 0);
  }
  on.await_drained();
  history seen;
  on.read_queue(seen);
  auto committed = committed_events(session);
  std::erase_if(committed, [&](const committed_event& one) { return one.routing_key == stuck; });
  const auto report = seen.check(committed);
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status <> 'published'") == 0);
  running.stop();
  broker{}.delete_queue(stuck);
}

TEST_CASE("a queue that never confirms does not stop a relay by filling its memory") {
  const stage on;
  const std::string stuck = on.queue() + "-stuck";
  broker{}.declare_queue(stuck);
  broker{}.bind(stuck, "outbox", stuck);
  auto session = on.connect();
  {
    const suspended_queue hangs{stuck};
    insert(session, "stuck", stuck, 50);
    insert(session, "good", on.key(), 50);
    // In memory there are 20 events at most.
    relay running{on, {"--amqp-confirm-timeout", "2s", "--relay-batch", "5"}};
    eventually(
        "the others are published",
        [&] { return session.number("SELECT count(*) FROM outbox.event WHERE status = 'published'") == 50; },
        time_limit);
    CHECK(session.number("SELECT count(*) FROM outbox.event WHERE attempts > 0") == 0);
    running.stop();
  }
  relay running{on};
  on.await_drained();
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status <> 'published'") == 0);
  history seen;
  on.read_queue(seen);
  auto committed = committed_events(session);
  std::erase_if(committed, [&](const committed_event& one) { return one.routing_key == stuck; });
  const auto report = seen.check(committed);
  CHECK_MESSAGE(report.sound(), report.words());
  running.stop();
  broker{}.delete_queue(stuck);
}

}  // namespace outboxd::test::silent_queue_test
