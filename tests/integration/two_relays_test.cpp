// Several relays on one table: each event once, each aggregate in order (guarantees 4 and 5).
#include <doctest/doctest.h>

#include <memory>

#include "asked_relay.hpp"
#include "load.hpp"
#include "stage.hpp"

namespace outboxd::test::two_relays_test {

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

TEST_CASE("one of two relays leads, and the other one stands by without a read") {
  const stage on;
  relay first{on};
  on.await_leader();
  asked_relay second{on};
  await_ready(second);
  on.add_events(40, 500);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 20'000);
  CHECK(metric(second, "outboxd_reads_total") == 0);
  second.stop();
  CHECK(second.all_lines().back().find("; 0 events published") != std::string::npos);
  first.stop();
  CHECK(first.all_lines().back().find("; 20000 events published") != std::string::npos);
}

TEST_CASE("a leader that stops hands over, and one that is killed is followed by the other one") {
  const stage on;
  load writers{on};
  std::unique_ptr<relay> leads = std::make_unique<relay>(on);
  leads->wait_line("leads shard 0 of 1", time_limit);
  for (const bool killed : {false, true, false, true}) {
    auto next = std::make_unique<relay>(on);
    next->await_connected();
    on.await_published(on.count("published") + 300);
    const auto leader = on.leader();
    if (killed)
      leads->send(SIGKILL);
    else
      leads->stop();
    next->wait_line("leads shard 0 of 1", time_limit);
    CHECK(on.await_leader() != leader);
    on.await_published(on.count("published") + 300);
    leads = std::move(next);
  }
  writers.stop();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  leads->stop();
}

TEST_CASE("a standby takes over at once from a leader whose session is ended, and both go on") {
  const stage on;
  load writers{on};
  relay first{on};
  relay second{on};
  first.await_connected();
  second.await_connected();
  auto session = on.connect();
  for (int i = 0; i < 6; ++i) {
    on.await_published(on.count("published") + 200);
    session.exec("SELECT pg_terminate_backend($1)", {std::to_string(on.await_leader())});
  }
  on.await_published(on.count("published") + 200);
  writers.stop();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  first.stop();
  second.stop();
}

TEST_CASE("relays that come and go disturb neither order nor count") {
  const stage on;
  load writers{on, {.writers = 2, .aggregates = 40}};
  relay resident{on, {"--relay-batch", "50"}};
  relay heir{on, {"--relay-batch", "50"}};
  heir.await_connected();
  for (int i = 0; i < 4; ++i) {
    relay guest{on, {"--relay-batch", "50"}};
    guest.await_connected();
    on.await_published(on.count("published") + 300);
    if (i == 2) resident.stop();  // the guest leads, and then nobody for a moment
    guest.stop();
  }
  writers.stop();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  heir.stop();
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

}  // namespace outboxd::test::two_relays_test
