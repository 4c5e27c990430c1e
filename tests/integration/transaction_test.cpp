// Guarantee 3: nothing leaves for a transaction that has not committed.
#include <doctest/doctest.h>

#include "stage.hpp"

namespace outboxd::test::transaction_test {
namespace {

void insert(database& session, const stage& on, const std::string& aggregate) {
  session.exec("SELECT outbox.emit('order', $1, $2, '{}')", {aggregate, on.key()});
}

}  // namespace

TEST_CASE("a rolled-back transaction's event never leaves") {
  const stage on;
  relay running{on};
  running.await_connected();
  auto session = on.connect();
  session.exec("BEGIN");
  insert(session, on, "rolled-back");
  // A later event of another transaction overtakes the open one, and so the relay has looked meanwhile.
  auto other = on.connect();
  insert(other, on, "while-open");
  on.await_published(1);
  session.exec("ROLLBACK");
  insert(session, on, "afterwards");
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 2);
  CHECK(report.phantom == 0);
}

TEST_CASE("an event before a ROLLBACK TO SAVEPOINT never leaves and the rest of its transaction does") {
  const stage on;
  relay running{on};
  auto session = on.connect();
  session.exec("BEGIN");
  insert(session, on, "before");
  session.exec("SAVEPOINT here");
  insert(session, on, "undone");
  session.exec("ROLLBACK TO SAVEPOINT here");
  insert(session, on, "behind");
  session.exec("COMMIT");
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 2);
  CHECK(report.phantom == 0);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE aggregate_id IN ('before', 'behind')") == 2);
}

TEST_CASE("an event leaves only after its transaction has committed, whatever leaves meanwhile") {
  const stage on;
  relay running{on};
  auto slow = on.connect();
  slow.exec("BEGIN");
  insert(slow, on, "slow");
  on.add_events(200, 5);
  on.await_published(1000);
  history seen;
  on.read_queue(seen);
  CHECK(seen.events() == 1000);
  slow.exec("COMMIT");
  on.await_published(1001);
  on.read_queue(seen);
  CHECK(seen.events() == 1001);
  CHECK(seen.deliveries() == 1001);
}

}  // namespace outboxd::test::transaction_test
