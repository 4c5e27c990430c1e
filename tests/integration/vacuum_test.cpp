// A relay that waits for confirms holds back no vacuum (design, section 2).
#include <doctest/doctest.h>

#include "stage.hpp"
#include "support/servers.hpp"

namespace outboxd::test::vacuum_test {
namespace {

// What VACUUM (VERBOSE) says of dead rows: "tuples: 1000 removed, 9 remain, 0 are dead but not yet
// removable".
std::string vacuum(database& session, const std::string& table) {
  std::string said;
  PQsetNoticeProcessor(
      session.handle(),
      [](void* to, const char* words) {
        const std::string text{words};
        const auto at = text.find("tuples: ");
        if (at != std::string::npos && static_cast<std::string*>(to)->empty())
          *static_cast<std::string*>(to) = text.substr(at, text.find('\n', at) - at);
      },
      &said);
  session.exec(fmt::format("VACUUM (VERBOSE) {}", table));
  PQsetNoticeProcessor(
      session.handle(), [](void*, const char*) {}, nullptr);
  return said;
}

}  // namespace

TEST_SUITE_BEGIN("alone");

TEST_CASE("a relay that waits for confirms holds back no vacuum") {
  const stage on;
  auto session = on.connect();
  session.exec("CREATE TABLE orders AS SELECT generate_series(1, 1000) AS id");
  relay running{on, {"--amqp-confirm-timeout", "1m"}};
  running.await_connected();
  const frozen_broker frozen;
  on.add_events(10, 100);
  eventually(
      "the relay has read what there is", [&] { return on.rows_read() >= 1000; }, time_limit);
  CHECK(on.shards_led() == 1);
  eventually("no session of the relay holds a snapshot or a transaction id", [&] {
    return session.number(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
               " AND application_name LIKE 'outboxd % on %'"
               " AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)") == 0;
  });
  session.exec("DELETE FROM orders WHERE id > 10");
  // Statements of the relay's other sessions hold a snapshot for as long as they run: a vacuum may meet one.
  eventually("a vacuum removes what is dead", [&] {
    const auto said = vacuum(session, "orders");
    return said.starts_with("tuples: 990 removed") &&
           said.find(" 0 are dead but not yet removable") != std::string::npos;
  });
  CHECK(on.shards_led() == 1);
  CHECK(on.count("pending") == 1000);  // all the while

  // The counter-check: a snapshot that is really held shows in the same words.
  auto holder = on.connect();
  holder.exec("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
  session.exec("DELETE FROM orders");
  CHECK(vacuum(session, "orders").find(" 10 are dead but not yet removable") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace outboxd::test::vacuum_test
