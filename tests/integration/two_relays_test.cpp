// Several relays on one table: each event once, each aggregate in order (guarantees 4 and 5).
#include <doctest/doctest.h>

#include "load.hpp"
#include "stage.hpp"

namespace outboxd::test {

TEST_CASE("two relays deliver 10,000 events of 500 aggregates each once and each aggregate in order") {
  const stage on;
  relay first{on};
  relay second{on};
  first.await_connected();
  second.await_connected();
  load writers{on, {.writers = 4, .aggregates = 125, .events = 2500, .pause_seconds = 0}};
  writers.finish();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.committed == 10'000);
  CHECK(report.delivered == 10'000);
  first.stop();
  second.stop();
}

TEST_CASE("two relays share a backlog and each publishes a part of it") {
  const stage on;
  on.add_events(40, 500);
  const arguments small{"--relay-batch", "20", "--relay-lanes", "2"};
  relay first{on, small};
  relay second{on, small};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 20'000);
  first.stop();
  second.stop();
}

TEST_CASE("relays that come and go disturb neither order nor count") {
  const stage on;
  load writers{on, {.writers = 2, .aggregates = 40}};
  relay resident{on, {"--relay-batch", "50"}};
  for (int i = 0; i < 4; ++i) {
    relay guest{on, {"--relay-batch", "50"}};
    guest.await_connected();
    on.await_published(on.count("published") + 300);
    guest.stop();
  }
  writers.stop();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  resident.stop();
}

TEST_CASE("one lane and pipelined order deliver each event once") {
  const stage on;
  on.add_events(300, 20);
  relay running{on, {"--relay-lanes", "1", "--relay-order", "pipelined"}};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 6000);
  running.stop();
}

}  // namespace outboxd::test
