// The edges of a read: what lies right at the end of one, or was left over by the leader before, is
// published.
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

TEST_CASE("an event that PostgreSQL did not let the last leader mark is found by the next one") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not this one'; END $$;"
      " CREATE TRIGGER refuse BEFORE UPDATE ON outbox.event"
      " FOR EACH ROW WHEN (OLD.aggregate_id = 'bad') EXECUTE FUNCTION refuse()");
  session.exec("SELECT outbox.emit('order', 'bad', $1, '{}')", {on.key()});
  on.add_events(10, 10);
  {
    relay first{on};
    on.await_published(100);
    eventually("the saved position has passed it", [&] {
      return session.number(
                 "SELECT count(*) FROM outbox.shard WHERE seq >= (SELECT max(seq) FROM outbox.event)") > 0;
    });
    first.stop();
  }
  session.exec("DROP TRIGGER refuse ON outbox.event");
  relay second{on, no_sweep};
  on.await_published(101);
  second.stop();
}

}  // namespace outboxd::test::read_edges_test
