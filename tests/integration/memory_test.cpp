// relay.batch_bytes bounds a batch, and with it the relay's memory.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "stage.hpp"

namespace outboxd::test::memory_test {
namespace {

// The peak of the resident memory (proc(5), VmHWM).
std::int64_t peak_kilobytes(const process& of) {
  std::ifstream status{fmt::format("/proc/{}/status", of.pid())};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(line.find_first_of("0123456789")));
  return -1;
}

// AddressSanitizer's own memory would be measured as well. The program under test may be of another build
// than this one, so it is looked at.
bool sanitized() {
  std::ifstream program{outboxd_binary(), std::ios::binary};
  const std::string bytes{std::istreambuf_iterator<char>{program}, {}};
  REQUIRE(!bytes.empty());
  return bytes.find("__asan_init") != std::string::npos;
}

}  // namespace

TEST_CASE("large events arrive whole in batches of few bytes and the relay stays small") {
  const stage on{{.payload = "text"}};
  on.connect().exec(  // 1 MB each
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'file', n % 50, $1, repeat(md5(n::text), 31250) FROM generate_series(1, 200) AS n",
      {on.key()});
  relay running{on, {"--relay-batch-bytes", "2MB"}};
  const auto report = on.check_all();
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

// Each is just small enough to come along with its row: a batch of them would be four times what a batch may
// be.
TEST_CASE("many events that are each of the largest size that comes along hold no more than a few batches") {
  const stage on{{.payload = "text"}};
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'file', n % 100, $1, repeat('x', CASE WHEN n % 1000 = 0 THEN 33000 ELSE 5000 END)"
      " FROM generate_series(1, 6000) AS n",
      {on.key()});
  relay running{on, {"--relay-batch-bytes", "8MB", "--relay-order", "pipelined"}};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 6000);
  if (!sanitized()) CHECK(peak_kilobytes(running) < 96 * 1024);
  running.stop();
}

// Compressed, they look small until they are read.
TEST_CASE("events that are compressed well hold no more than a few batches") {
  const stage on{{.payload = "text"}};
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'file', n % 50, $1, repeat('0123456789', 50000) FROM generate_series(1, 400) AS n",
      {on.key()});
  relay running{on, {"--relay-batch-bytes", "2MB"}};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 400);
  if (!sanitized()) CHECK(peak_kilobytes(running) < 64 * 1024);
  running.stop();
}

// Their texts are fetched after their keys; the session goes in between, again and again.
TEST_CASE("sessions that are lost while large events are fetched take nothing with them") {
  const stage on{{.payload = "text"}};
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'file', n % 5, $1, repeat(md5(n::text), CASE WHEN n % 10 = 0 THEN 30000 ELSE 1 END)"
      " FROM generate_series(1, 1000) AS n",
      {on.key()});
  relay running{on, {"--relay-batch-bytes", "2MB"}};
  for (int i = 1; i <= 5; ++i) {
    eventually(
        "it goes on", [&] { return on.count("published") >= 100 * i; }, time_limit);
    session.exec("SELECT pg_terminate_backend($1)", {std::to_string(on.leader())});
  }
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == 1000);
  running.stop();
}

TEST_CASE("long names count for the size of a batch") {
  const stage on{{.payload = "text"}};
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'file', n || repeat('y', 90000), $1, 'x' FROM generate_series(1, 1000) AS n",
      {on.key()});
  relay running{on, {"--relay-batch-bytes", "2MB"}};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 1000);
  if (!sanitized()) CHECK(peak_kilobytes(running) < 64 * 1024);
  running.stop();
}

// The texts of the large ones are fetched later; their aggregates wait for them.
TEST_CASE("large events among small ones arrive in order") {
  const stage on{{.payload = "text"}};
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'file', n % 7, $1, repeat('x', CASE WHEN n % 50 = 0 THEN 100000 ELSE n % 100 END)"
      " FROM generate_series(1, 1000) AS n",
      {on.key()});
  relay running{on, {"--relay-batch-bytes", "300kB"}};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 1000);
  running.stop();
}

}  // namespace outboxd::test::memory_test
