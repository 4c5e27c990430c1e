// claim_share_test: how much of a claim each shard has.
#include <doctest/doctest.h>

#include "stage.hpp"

using namespace outboxd::test;

TEST_CASE("a shard has its part of a claim, and a sixteenth of it at least, however many shards there are") {
  const stage on;
  auto session = on.connect();
  on.add_events(1, 300);
  session.exec("SELECT outbox.emit('order', 'busy', $1, '{}') FROM generate_series(1, 500)", {on.key()});
  const auto most_of_a_shard = [&](int batch) {
    return session.number(
        "SELECT max(n) FROM (SELECT count(*) AS n FROM outbox.claimed($1, 1000000) GROUP BY shard) AS s",
        {std::to_string(batch)});
  };
  session.exec("BEGIN; SELECT outbox.take_shards(64)");
  CHECK(session.number("SELECT cardinality(current_setting('outboxd.shards')::integer[])") > 16);
  CHECK(most_of_a_shard(320) == 20);
  CHECK(most_of_a_shard(10) <= 1);
  session.exec("ROLLBACK");
  session.exec("BEGIN; UPDATE outbox.event SET status = 'published' WHERE aggregate_id <> 'busy'");
  session.exec("SELECT outbox.take_shards(64)");
  CHECK(most_of_a_shard(320) == 320);
  session.exec("ROLLBACK");
}
