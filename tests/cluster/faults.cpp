#include "faults.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/eventually.hpp"

namespace outboxd::cluster {
namespace {

using namespace std::chrono_literals;

constexpr auto time_limit = 180s;

// How long a fault lasts: a moment of its own, drawn, while everything goes on.
void last(std::mt19937_64& random, std::chrono::milliseconds most) {
  std::this_thread::sleep_for(std::chrono::milliseconds{random() % static_cast<std::uint64_t>(most.count())});
}

int follower(rig& on, std::mt19937_64& random) {
  return (on.queue().await_leader() + 1 + static_cast<int>(random() % 2)) % nodes;
}

void kill(rig& on, int node, std::mt19937_64& random) {
  on.queue().out_of_service(node);
  on.brokers().kill(node);
  on.queue().await_leader_but(node);
  on.await_flow();
  last(random, 2s);
  on.brokers().start(node);
  on.queue().in_service(node);
  on.await_flow();
}

void leader_killed(rig& on, std::mt19937_64& random) {
  kill(on, on.queue().await_leader(), random);
}
void follower_killed(rig& on, std::mt19937_64& random) {
  kill(on, follower(on, random), random);
}

// The member that is left cannot elect itself. The other queue has a majority, on the same two nodes.
void majority_lost(rig& on, std::mt19937_64& random) {
  const int node = on.pair().await_leader();
  on.queue().out_of_service(node);
  on.brokers().kill(node);
  on.queue().await_leader_but(node);
  on.write_to_pair();
  on.await_pair_waiting();
  on.await_flow();
  last(random, 2s);
  on.brokers().start(node);
  on.queue().in_service(node);
  on.await_flow();
}

void await_service(rig& on, int node, bool wanted) {
  test::eventually(
      wanted ? "the node is back" : "the node pauses", [&] { return on.brokers().serves(node) == wanted; },
      time_limit);
}

// In the minority it pauses, once it has found out, or keeps connections on which it confirms nothing.
void cut_off(rig& on, int node, cut how, std::mt19937_64& random) {
  on.queue().out_of_service(node);
  on.brokers().cut_off(node, how);
  on.queue().await_leader_but(node);
  on.await_flow();
  if (on.brokers().pauses_in_minority()) await_service(on, node, false);
  on.await_flow();
  last(random, 2s);
  on.brokers().reconnect(node);
  await_service(on, node, true);
  on.queue().in_service(node);
  on.await_flow();
}

void leader_cut_off(rig& on, std::mt19937_64& random) {
  cut_off(on, on.queue().await_leader(), cut::refused, random);
}
void follower_cut_off(rig& on, std::mt19937_64& random) {
  cut_off(on, follower(on, random), cut::refused, random);
}
void leader_unplugged(rig& on, std::mt19937_64& random) {
  cut_off(on, on.queue().await_leader(), cut::silent, random);
}
void follower_unplugged(rig& on, std::mt19937_64& random) {
  cut_off(on, follower(on, random), cut::silent, random);
}

// Too short for anybody to find out.
void leader_unplugged_briefly(rig& on, std::mt19937_64& random) {
  const int node = on.queue().await_leader();
  on.queue().out_of_service(node);
  on.brokers().cut_off(node, cut::silent);
  last(random, 4s);
  on.brokers().reconnect(node);
  on.queue().in_service(node);
  await_service(on, node, true);
  on.await_flow();
}

void leader_in_maintenance(rig& on, std::mt19937_64& random) {
  const int node = on.queue().await_leader();
  on.brokers().drain(node);
  on.queue().await_leader_but(node);
  on.await_flow();
  last(random, 2s);
  on.brokers().revive(node);
  await_service(on, node, true);
  on.await_flow();
}

void rolling_restart(rig& on, std::mt19937_64& random) {
  const auto first = static_cast<int>(random() % nodes);
  for (int i = 0; i < nodes; ++i) {
    const int node = (first + i) % nodes;
    on.brokers().stop(node);
    on.queue().out_of_service(node);
    on.queue().await_leader_but(node);
    on.brokers().start(node);
    on.queue().in_service(node);
    on.await_flow();
  }
}

void synchronous_standby_promoted(rig& on, std::mt19937_64& random) {
  on.make_synchronous();
  last(random, 1s);
  on.fail_over();
  on.await_flow();
}

void asynchronous_standby_promoted(rig& on, std::mt19937_64& random) {
  last(random, 1s);
  on.hold_standby_back();
  on.fail_over();
  on.await_flow();
}

const std::vector<fault>& table() {
  static const std::vector<fault> all{
      {"leader-killed", leader_killed, false},
      {"follower-killed", follower_killed, false},
      {"majority-lost", majority_lost, false},
      {"leader-cut-off", leader_cut_off, false},
      {"follower-cut-off", follower_cut_off, false},
      {"leader-unplugged", leader_unplugged, false},
      {"leader-unplugged-briefly", leader_unplugged_briefly, false},
      {"follower-unplugged", follower_unplugged, false},
      {"leader-in-maintenance", leader_in_maintenance, false},
      {"rolling-restart", rolling_restart, false},
      {"synchronous-standby-promoted", synchronous_standby_promoted, true},
      {"asynchronous-standby-promoted", asynchronous_standby_promoted, true},
  };
  return all;
}

}  // namespace

std::span<const fault> all_faults() {
  return table();
}

const fault& find_fault(const std::string& name) {
  for (const auto& one : table())
    if (one.name == name) return one;
  throw std::runtime_error{"there is no fault " + name};
}

}  // namespace outboxd::cluster
