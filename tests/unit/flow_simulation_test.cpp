// flow_simulation_test: relays, an outbox and a broker under random faults, in virtual time, from a seed.
//
// OUTBOXD_SIMULATION_SEED=<n> runs that seed alone.
#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>

#include "simulated_relay.hpp"

using namespace outboxd;
using namespace outboxd::test;

namespace {

struct chaos {
  bool faults = true;
  bool refusals = true;  // nacks and returns
  order_mode order = order_mode::strict;
};

class simulation {
 public:
  simulation(std::uint64_t seed, chaos how) : world_(seed), how_(how) {
    settings_.delivery.order = how.order;
    if (world_.chance(500)) table_.batch = 32;  // then most batches are small, and a look follows them
    settings_.batch = table_.batch;
    settings_.claim_timeout = milliseconds(4000);
    settings_.confirm_timeout = milliseconds(2000);
    settings_.delivery.retry = retry_policy::exponential(milliseconds(50), milliseconds(300), 8);
    exchange_.on_delivered = [this](std::int64_t seq) { check_order(seq); };
    table_.on_marked = [this](std::int64_t seq) {
      require(exchange_.acked.contains(seq), "published means acknowledged");
    };
    exchange_.nacks_in_thousand = how.refusals ? 30 : 0;
    exchange_.returns_in_thousand = how.refusals ? 20 : 0;
    for (int i = 0; i < 2; ++i) start_relay();
    produce();
    if (how.faults) strike();
  }

  void run() {
    world_.run_until(world_.now() + std::chrono::seconds(20));
    calm_ = true;
    exchange_.nacks_in_thousand = exchange_.returns_in_thousand = 0;
    // The last pause, claim_timeout, reconnects, a backoff, a sweep, and the drain.
    world_.run_until(world_.now() + std::chrono::seconds(30));
    check_drained();
    for (auto& one : relays_)
      if (one->running()) one->stop(milliseconds(1000));
    world_.run_until(world_.now() + std::chrono::seconds(10));
    for (const auto& one : relays_) require(one->killed() || one->idle(), "a stopped relay comes to rest");
    require(!table_.locked(), "no lock is left behind");
  }

  const std::vector<std::string>& broken() const { return broken_; }
  std::size_t steps() const { return world_.steps(); }
  std::size_t events() const { return table_.rows.size(); }
  std::string history() const { return history_; }
  std::size_t duplicates() const {
    std::size_t extra = 0;
    for (const auto& [seq, times] : exchange_.delivered) extra += static_cast<std::size_t>(times - 1);
    return extra;
  }

 private:
  void start_relay() {
    const auto lanes = static_cast<int>(world_.between(1, 3));
    relays_.push_back(std::make_unique<simulated_relay>(world_, table_, exchange_, lanes, settings_));
  }

  // Some events are scheduled for later, some can never be published, some notifications are lost.
  void produce() {
    if (calm_) return;
    const auto aggregate = world_.between(0, 9);
    simulated_event one;
    one.aggregate = std::string(1, static_cast<char>('a' + aggregate));
    one.type = world_.chance(30)                    ? "unencodable"
               : how_.refusals && world_.chance(20) ? "t.missing"
               : how_.refusals && world_.chance(20) ? "t.unroutable"
                                                    : "t.happened";
    one.shard = static_cast<int>(aggregate % 6);
    if (world_.chance(50)) {
      one.status = simulated_event::state::waiting;
      one.available_at = world_.now() + world_.delay(1, 3000);
    }
    table_.rows.push_back(std::move(one));
    for (const auto& relay : relays_)
      if (relay->running() && world_.chance(800)) relay->ring();
    world_.after(world_.chance(100) ? world_.delay(0, 1000) : world_.delay(0, 60), [this] { produce(); });
  }

  void strike() {
    if (calm_) return;
    auto& victim =
        *relays_[static_cast<std::size_t>(world_.between(0, static_cast<std::int64_t>(relays_.size()) - 1))];
    const auto lane =
        static_cast<std::size_t>(world_.between(0, static_cast<std::int64_t>(victim.lanes()) - 1));
    if (!victim.killed()) strike(victim, lane);
    world_.after(world_.delay(10, 700), [this] { strike(); });
  }

  void strike(simulated_relay& victim, std::size_t lane) {
    switch (world_.between(0, 7)) {
      case 0:
        return victim.outbox(lane).lose();
      case 1:
        return victim.broker(lane).lose();
      case 2:
        return victim.broker(lane).freeze(world_.delay(0, 4000));
      case 3:
        return victim.broker(lane).block(world_.delay(0, 3000));
      case 4:
        return victim.hang(world_.delay(0, 12'000));
      case 5:
        return world_.chance(300) ? replace(victim, false) : victim.broker(lane).lose();
      case 6:
        return world_.chance(300) ? replace(victim, true) : victim.outbox(lane).lose();
      default:
        exchange_.nacks_in_thousand = how_.refusals ? world_.between(0, 300) : 0;
    }
  }

  void replace(simulated_relay& old, bool orderly) {
    if (!old.running()) return;
    orderly ? old.stop(milliseconds(500)) : old.kill();
    start_relay();
  }

  // Pipelined order may be overtaken when the broker refuses an event, and says so.
  void check_order(std::int64_t seq) {
    history_ += std::to_string(seq) + " ";
    if (how_.order == order_mode::pipelined || exchange_.delivered[seq] > 1) return;
    const simulated_event& which = table_.row(seq);
    for (std::int64_t earlier = 1; earlier < seq; ++earlier) {
      const simulated_event& one = table_.row(earlier);
      if (one.aggregate != which.aggregate || one.type != "t.happened") continue;
      require(exchange_.delivered.contains(earlier),
              "an event is first delivered after the earlier ones of its aggregate");
    }
  }

  void check_drained() {
    require(table_.drained(), "in the end no event is left");
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      const simulated_event& one = table_.rows[i];
      const bool delivered = exchange_.delivered.contains(static_cast<std::int64_t>(i) + 1);
      const bool dead = one.status == simulated_event::state::dead;
      require(dead == (one.type != "t.happened"), "dead is exactly what was bad by itself");
      require(dead || delivered, "no event is lost");
    }
  }

  void require(bool holds, const char* rule) {
    if (!holds && std::find(broken_.begin(), broken_.end(), rule) == broken_.end())
      broken_.emplace_back(rule);
  }

  simulated_world world_;
  chaos how_;
  relay::lane_settings settings_;
  simulated_table table_;
  simulated_exchange exchange_;
  std::vector<std::unique_ptr<simulated_relay>> relays_;
  bool calm_ = false;
  std::string history_;
  std::vector<std::string> broken_;
};

std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const char* const one = std::getenv("OUTBOXD_SIMULATION_SEED"))
    return {std::strtoull(one, nullptr, 10)};
  std::vector<std::uint64_t> all(count);
  for (std::uint64_t i = 0; i < count; ++i) all[i] = i + 1;
  return all;
}

}  // namespace

TEST_CASE(
    "under any faults nothing is lost, nothing unacknowledged is published, and every aggregate keeps its "
    "order") {
  std::size_t steps = 0;
  std::size_t duplicates = 0;
  for (const std::uint64_t seed : seeds(200)) {
    CAPTURE(seed);
    simulation one(seed, {});
    one.run();
    CHECK(join(one.broken(), "; ") == "");
    CHECK(one.events() > 100);
    steps += one.steps();
    duplicates += one.duplicates();
  }
  MESSAGE(steps, " steps, ", duplicates, " duplicates");
}

TEST_CASE("pipelined, too, nothing is lost and nothing unacknowledged is published") {
  for (const std::uint64_t seed : seeds(60)) {
    CAPTURE(seed);
    simulation one(seed, {.order = order_mode::pipelined});
    one.run();
    CHECK(join(one.broken(), "; ") == "");
  }
}

TEST_CASE("without faults every event is published exactly once, by however many relays and lanes") {
  for (const std::uint64_t seed : seeds(60)) {
    CAPTURE(seed);
    simulation one(seed, {.faults = false, .refusals = false});
    one.run();
    CHECK(join(one.broken(), "; ") == "");
    CHECK(one.duplicates() == 0);
  }
}

TEST_CASE("a seed gives the same history every time") {
  simulation one(7, {});
  simulation two(7, {});
  simulation other(8, {});
  one.run();
  two.run();
  other.run();
  CHECK(one.history() == two.history());
  CHECK(one.history() != other.history());
}
