// Guarantee 10: a relay that is killed needs no repair.
#include <doctest/doctest.h>

#include "load.hpp"
#include "stage.hpp"

namespace outboxd::test {
namespace {

constexpr int lanes = 2;
constexpr int batch = 40;
const arguments small{"--relay-lanes", std::to_string(lanes), "--relay-batch", std::to_string(batch)};

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
    CHECK(victim.wait(patience).signal == SIGKILL);
  }
  writers.stop();
  relay last{on, small};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK_MESSAGE(report.duplicates <= kills * lanes * batch, report.words());
  last.stop();
}

TEST_CASE("what a killed relay had claimed is free again at once") {
  const stage on;
  on.add_events(1000, 20);
  // A claim that only its timeout would free would hold its shards for an hour.
  relay victim{on, {"--relay-claim-timeout", "1h", "--relay-batch", "50"}};
  on.await_published(500);
  victim.send(SIGKILL);
  victim.wait(patience);
  relay successor{on, {"--relay-claim-timeout", "1h"}};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  successor.stop();
}

TEST_CASE("another relay takes over at once from one that is killed") {
  const stage on;
  on.add_events(500, 40);
  relay survivor{on, small};
  {
    relay victim{on, small};
    victim.await_connected();
    on.await_published(1000);
    victim.send(SIGKILL);
    victim.wait(patience);
  }
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK_MESSAGE(report.duplicates <= lanes * batch, report.words());
  survivor.stop();
}

}  // namespace outboxd::test
