// Guarantee 10: a relay that is killed needs no repair.
#include <doctest/doctest.h>

#include "load.hpp"
#include "stage.hpp"

namespace outboxd::test::relay_crash_test {
namespace {

constexpr int batch = 40;
constexpr int in_flight = 4 * batch;  // at most
const arguments small{"--relay-batch", std::to_string(batch)};

}  // namespace

TEST_CASE("a relay killed in mid-batch several times loses nothing and repeats no more than was in flight") {
  constexpr int kills = 5;
  const stage on;
  on.add_events(100, 120);  // a backlog, so that every kill meets batches under way
  load writers{on};
  for (int i = 0; i < kills; ++i) {
    relay victim{on, small};
    on.await_published(on.count("published") + 400);
    REQUIRE(on.count("pending") > 0);
    victim.send(SIGKILL);
    CHECK(victim.wait(time_limit).signal == SIGKILL);
  }
  writers.stop();
  relay last{on, small};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK_MESSAGE(report.duplicates <= kills * in_flight, report.words());
  last.stop();
}

TEST_CASE("the lead of a killed relay is free again at once") {
  const stage on;
  on.add_events(1000, 20);
  // A lead that only its timeout would free would be held for an hour.
  const arguments patient{"--relay-claim-timeout", "1h", "--relay-batch", "50"};
  relay victim{on, patient};
  on.await_published(500);
  victim.send(SIGKILL);
  victim.wait(time_limit);
  relay successor{on, {"--relay-claim-timeout", "1h"}};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  successor.stop();
}

TEST_CASE("another relay takes over at once from one that is killed") {
  const stage on;
  on.add_events(500, 40);
  relay victim{on, small};
  victim.await_connected();
  on.await_leader();
  relay survivor{on, small};
  survivor.await_connected();
  on.await_published(1000);
  victim.send(SIGKILL);
  victim.wait(time_limit);
  survivor.wait_line("leads shard 0 of 1", time_limit);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK_MESSAGE(report.duplicates <= in_flight, report.words());
  survivor.stop();
}

}  // namespace outboxd::test::relay_crash_test
