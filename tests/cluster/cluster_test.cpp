// Quorum queues on three nodes and a primary with a standby: after each fault nothing is lost, and each
// aggregate is in order.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "round.hpp"
#include "shared_cluster.hpp"

namespace outboxd::cluster::cluster_test {
namespace {

std::string variable(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

rig_settings settings_of(std::uint64_t seed, const std::string& name) {
  const auto logs = variable("OUTBOXD_TEST_CLUSTER_LOGS", "");
  rig_settings how;
  how.seed = seed;
  if (!logs.empty()) how.logs = std::filesystem::path{logs} / name;
  return how;
}

void survive(const std::string& name, int relays = 2) {
  auto how = settings_of(1, fmt::format("{}-{}", name, relays));
  how.relays = relays;
  how.shards = relays > 2 ? 4 : 1;
  const auto result = run_round(shared_cluster(), how, {&find_fault(name)});
  for (const auto& one : result.wrong) FAIL_CHECK(one);
}

}  // namespace

TEST_SUITE_BEGIN("cluster");

TEST_CASE("the node that leads the queue is killed") {
  survive("leader-killed");
  survive("leader-killed", 4);
}
TEST_CASE("a node that follows is killed") {
  survive("follower-killed");
}
TEST_CASE("a queue has no majority: its events wait, those of another queue go on") {
  survive("majority-lost");
  survive("majority-lost", 4);
}
TEST_CASE("the node that leads the queue is cut off, and pauses") {
  survive("leader-cut-off");
}
TEST_CASE("a node that follows is cut off, and pauses") {
  survive("follower-cut-off");
}
TEST_CASE("nothing of the node that leads the queue arrives any more, until it pauses") {
  survive("leader-unplugged");
}
TEST_CASE("nothing of the node that leads the queue arrives for a moment") {
  survive("leader-unplugged-briefly", 4);
}
TEST_CASE("the node that leads the queue goes into maintenance") {
  survive("leader-in-maintenance");
}
TEST_CASE("all nodes are restarted, one after another") {
  survive("rolling-restart");
}
TEST_CASE("a standby with all commits takes over") {
  survive("synchronous-standby-promoted");
}
TEST_CASE("a standby without the latest commits takes over: these are missing, and nothing else") {
  survive("asynchronous-standby-promoted", 4);
}

TEST_SUITE_END();

// tools/cluster --minutes.
TEST_CASE("faults from a seed" * doctest::test_suite("cluster-soak")) {
  const auto seed = std::stoull(variable("OUTBOXD_TEST_CLUSTER_SEED", "1"));
  const auto length = std::chrono::seconds{std::stoi(variable("OUTBOXD_TEST_CLUSTER_SECONDS", "60"))};
  const auto only = variable("OUTBOXD_TEST_CLUSTER_ONLY", "");
  std::vector<const fault*> choice;
  for (const auto& one : all_faults())
    if (only.empty() || ("," + only + ",").find("," + one.name + ",") != std::string::npos)
      choice.push_back(&one);
  REQUIRE(!choice.empty());
  std::mt19937_64 random{seed};
  std::vector<figures> all;
  auto& brokers = shared_cluster();
  const auto end = std::chrono::steady_clock::now() + length;
  for (int number = 0; number == 0 || std::chrono::steady_clock::now() < end; ++number) {
    auto how = settings_of(random(), fmt::format("{}-{}", seed, number));
    how.relays = random() % 2 == 0 ? 2 : 4;
    how.shards = random() % 2 == 0 ? 1 : 4;
    std::vector<const fault*> faults;
    for (int i = 0; i < 3 && (faults.empty() || !faults.back()->is_last); ++i)
      faults.push_back(choice[random() % choice.size()]);
    try {
      const auto result = run_round(brokers, how, faults);
      for (const auto& one : result.wrong) FAIL_CHECK(fmt::format("round {}: {}", number, one));
      all.insert(all.end(), result.of_faults.begin(), result.of_faults.end());
    } catch (const std::exception& error) {
      // A server has not done what the fault needs, or an event has not come.
      FAIL_CHECK(fmt::format("round {} ended early: {}", number, error.what()));
      brokers.start_over();
    }
  }
  fmt::print("{}", table_of(all));
}

}  // namespace outboxd::cluster::cluster_test
