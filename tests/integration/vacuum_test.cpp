// A relay that waits for confirms holds back no vacuum (design, section 2).
#include <doctest/doctest.h>

#include <regex>

#include "stage.hpp"
#include "support/servers.hpp"

namespace outboxd::test::vacuum_test {
namespace {

// What VACUUM (VERBOSE) says of dead rows: "tuples: 990 removed, 10 remain, 0 are dead but not yet
// removable".
// PostgreSQL 14: "found 990 removable, 10 nonremovable row versions in 5 out of 5 pages", and in its detail
// "0 dead row versions cannot be removed yet".
struct dead_rows {
  int removed = -1;
  int left = -1;

  bool operator==(const dead_rows&) const = default;
};

dead_rows rows_in(const std::string& said) {
  static const std::regex removed(R"(tuples: (\d+) removed|found (\d+) removable)");
  static const std::regex left(R"((\d+) are dead but not yet removable|(\d+) dead row versions cannot be)");
  const auto number = [&](const std::regex& of) {
    std::smatch found;
    if (!std::regex_search(said, found, of)) return -1;
    return std::stoi(found[1].matched ? found[1] : found[2]);
  };
  return {number(removed), number(left)};
}

dead_rows vacuum(database& session, const std::string& table) {
  dead_rows said;
  PQsetNoticeProcessor(
      session.handle(),
      [](void* to, const char* words) {
        auto& first = *static_cast<dead_rows*>(to);
        const auto now = rows_in(words);
        if (first == dead_rows{} && now.left >= 0) first = now;
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
  eventually("a vacuum removes what is dead",
             [&] { return vacuum(session, "orders") == dead_rows{.removed = 990, .left = 0}; });
  CHECK(on.shards_led() == 1);
  CHECK(on.count("pending") == 1000);  // all the while

  // The counter-check: a snapshot that is really held shows in the same words.
  auto holder = on.connect();
  holder.exec("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
  session.exec("DELETE FROM orders");
  CHECK(vacuum(session, "orders").left == 10);
}

TEST_SUITE_END();

}  // namespace outboxd::test::vacuum_test
