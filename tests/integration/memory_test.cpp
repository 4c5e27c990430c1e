// relay.batch_bytes bounds a batch, and with it the relay's memory.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "stage.hpp"

namespace outboxd::test {
namespace {

// The peak of the resident memory (proc(5), VmHWM).
std::int64_t peak_kilobytes(const process& of) {
  std::ifstream status{fmt::format("/proc/{}/status", of.pid())};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(line.find_first_of("0123456789")));
  return -1;
}

// The sanitizers' own memory would be measured as well.
bool sanitized() {
  return std::string_view(OUTBOXD_SANITIZE) != "" || std::getenv("OUTBOXD_TEST_BINARY") != nullptr;
}

}  // namespace

TEST_CASE("large events arrive whole in batches of few bytes and the relay stays small") {
  const stage on{{.payload = "text"}};
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'file', n % 50, $1, repeat(md5(n::text), 31250) FROM generate_series(1, 200) AS n",  // 1 MB each
      {on.key()});
  relay running{on, {"--relay-batch-bytes", "2MB"}};
  const auto report = on.check_all(120s);
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 200);
  const auto peak = peak_kilobytes(running);
  CHECK(peak > 0);
  if (!sanitized()) CHECK(peak < 64 * 1024);
  running.stop();
}

TEST_CASE("an event larger than batch_bytes goes alone") {
  const stage on{{.payload = "text"}};
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'file', n % 2, $1, repeat('x', n * 1000) FROM generate_series(1, 100) AS n",
      {on.key()});
  relay running{on, {"--relay-batch-bytes", "1"}};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 100);
  running.stop();
}

// A thousand that just need no sum, 31 MB, and behind them one that does: the first look is given up before the second is read.
TEST_CASE("a claim that is made again holds no more than one batch") {
  const stage on{{.payload = "text"}};
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'file', 'the same', $1, repeat('x', CASE WHEN n % 1000 = 0 THEN 33000 ELSE 31000 END)"
      " FROM generate_series(1, 2000) AS n",
      {on.key()});
  relay running{on, {"--relay-batch-bytes", "32MB", "--relay-lanes", "1", "--relay-order", "pipelined"}};
  const auto report = on.check_all(120s);
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 2000);
  if (!sanitized()) CHECK(peak_kilobytes(running) < 64 * 1024);
  running.stop();
}

// The server ends the session that asks for the second look, the first time.
TEST_CASE("a session that is lost between the two looks of a claim takes nothing with it") {
  const stage on{{.payload = "text"}};
  auto session = on.connect();
  session.exec("ALTER FUNCTION outbox.claimed RENAME TO claimed_as_ever");
  session.exec("CREATE VIEW outbox.claimed_row AS SELECT * FROM outbox.claimed_as_ever(0, 0)");
  session.exec("CREATE SEQUENCE outbox.second_looks");
  session.exec(
      "CREATE FUNCTION outbox.claimed(batch integer, largest bigint) RETURNS SETOF outbox.claimed_row "
      "LANGUAGE plpgsql AS $$"
      " BEGIN"
      "   IF batch > 0 AND largest = 2147483647 AND nextval('outbox.second_looks') = 1 THEN"
      "     PERFORM pg_terminate_backend(pg_backend_pid());"
      "   END IF;"
      "   RETURN QUERY SELECT * FROM outbox.claimed_as_ever(batch, largest);"
      " END $$");
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'file', n % 5, $1, repeat('x', CASE WHEN n % 10 = 0 THEN 100000 ELSE 10 END)"
      " FROM generate_series(1, 200) AS n",
      {on.key()});
  relay running{on, {"--relay-batch-bytes", "2MB", "--relay-lanes", "1"}};
  const auto report = on.check_all(120s);
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 200);
  CHECK(session.number("SELECT last_value FROM outbox.second_looks") > 1);
  running.stop();
  const auto lines = running.all_lines();
  CHECK(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("terminating connection due to administrator command") != std::string::npos;
  }));
}

TEST_CASE("long names count for the size of a batch") {
  const stage on{{.payload = "text"}};
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'file', n || repeat('y', 90000), $1, 'x' FROM generate_series(1, 1000) AS n",
      {on.key()});
  relay running{on, {"--relay-batch-bytes", "2MB"}};
  const auto report = on.check_all(120s);
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 1000);
  if (!sanitized()) CHECK(peak_kilobytes(running) < 64 * 1024);
  running.stop();
}

// Those with large ones among them are claimed a second time, in the same transaction, and then with the sum.
TEST_CASE("large events among small ones arrive in order") {
  const stage on{{.payload = "text"}};
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'file', n % 7, $1, repeat('x', CASE WHEN n % 50 = 0 THEN 100000 ELSE n % 100 END)"
      " FROM generate_series(1, 1000) AS n",
      {on.key()});
  relay running{on, {"--relay-batch-bytes", "300kB", "--relay-lanes", "2"}};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 1000);
  running.stop();
}

}  // namespace outboxd::test
