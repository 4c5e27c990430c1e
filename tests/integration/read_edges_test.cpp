// The edges of a read: what lies right at the end of one is published.
#include <doctest/doctest.h>

#include "partitioned.hpp"
#include "stage.hpp"

namespace outboxd::test::read_edges_test {

TEST_CASE("events with the same seq are all read, wherever a read ends") {
  const unpartitioned_stage on;
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (seq, aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 7, 'order', n, $1, '{}' FROM generate_series(1, 5) AS n",
      {on.key()});
  arguments one_at_a_time = no_sweep;
  one_at_a_time.insert(one_at_a_time.end(), {"--relay-batch", "1"});
  relay running{on, one_at_a_time};
  on.await_published(5);
  running.stop();
}

// Other sessions of the server take transaction ids, too, so it is tried some times.
TEST_CASE("an event of the first transaction after a read, with a seq from before it, is published") {
  const unpartitioned_stage on;
  auto session = on.connect();
  relay running{on, no_sweep};
  for (int published = 0; published < 40;) {
    const auto early = session.value("SELECT nextval('outbox.event_seq')");
    on.add_events(1);
    on.await_published(++published);
    session.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, seq)"
        " VALUES ('order', 'late', $1, '{}', $2::bigint)",
        {on.key(), early});
    on.await_published(++published);
  }
  running.stop();
}

}  // namespace outboxd::test::read_edges_test
