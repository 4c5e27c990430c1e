// simulated_relay: one relay's process: its lanes, its leaders, and its timers.
#pragma once

#include <deque>
#include <utility>

#include "simulated_leader.hpp"
#include "simulated_rabbit.hpp"

namespace outboxd::test {

class simulated_relay {
 public:
  struct settings {
    flow::stream_limits stream;
    flow::lane_limits lane;
    milliseconds sweep_interval{300};
    milliseconds claim_timeout{2'000};
    bool renews_lanes = true;   // when a session is lost
    bool counts_others = true;  // shares shards with the other relays, and makes way for them
    std::int64_t max_rate = 0;
  };
  using complaint = std::function<void(const char*)>;
  // A row was sent, and said this.
  std::function<void(std::size_t row, int content)> on_sent;

  static milliseconds lead_lasts(milliseconds claim_timeout) { return claim_timeout * 3 / 4; }

  simulated_relay(virtual_world& world, simulated_postgres& table, simulated_exchange& exchange,
                  int lane_count, const settings& how, const rules& with, complaint complain)
      : world_(world),
        table_(table),
        how_(how),
        with_(with),
        complain_(std::move(complain)),
        process_(world),
        pool_([this] { return world_.now(); }, {}, flow::destinations({}), flow::rate_limit(how.max_rate)) {
    for (int i = 0; i < lane_count; ++i) add_lane(exchange);
    add_leader();
    every(milliseconds(100), [this] { pool_.check_deadlines(); });
    if (how.max_rate > 0)
      every(milliseconds(10), [this] {
        if (pool_.next_pump() && *pool_.next_pump() <= world_.now()) pool_.pump_and_tell();
      });
  }

  std::function<void(std::size_t shard, const flow::saved_position& from)> on_lead;

  // A word for the leader of this shard. That the lead is asked for may be forged.
  void hear(std::size_t shard, flow::word what) {
    process_.run([this, shard, what] {
      if (auto* const one = find_leader(shard)) one->hear(what);
    });
  }

  // retry.give_up_after is another time from now on.
  void give_up_after(milliseconds to) {
    how_.stream.give_up_after = to;
    process_.run([this] {
      for (auto& one : leaders_) one.adopt(limits());
    });
  }

  // In order: each stream drains, then the process ends.
  void stop(clock::duration grace) {
    if (std::exchange(stopping_, true)) return;
    process_.run([this] {
      for (auto& one : leaders_) one.stop();
    });
    world_.after(grace, [this] {
      process_.run([this] {
        for (auto& one : leaders_) one.abandon();
      });
    });
    world_.after(grace + milliseconds(1'500), [this] { kill(); });
  }
  void kill() {
    if (process_.killed()) return;
    process_.kill();
    for (auto& one : leaders_) one.cut(world_.micros(0, 20'000), clock::duration(0));
    for (auto& one : rabbits_) one.end();
  }
  void freeze(clock::duration pause) {
    const auto until = world_.now() + pause;
    process_.freeze_until(until);
    for (auto& one : rabbits_) one.hold_until(until);
    world_.after(how_.claim_timeout, [this] {
      if (process_.frozen() && !process_.killed())
        for (auto& one : leaders_) one.cut(clock::duration(0), clock::duration(0));
    });
  }
  // It reaches no broker for so long.
  void lose_broker(clock::duration pause) {
    for (auto& one : rabbits_) one.stay_away(world_.now() + pause);
  }
  // The one that leads this shard, or the one that stands by.
  void lose_session(std::size_t shard) {
    auto* const one = find_leader(shard);
    (one != nullptr ? *one : leaders_.back()).cut(world_.millis(0, 300), world_.millis(0, 300));
  }
  void crash_of_server() {
    for (auto& one : leaders_) one.cut(clock::duration(0), world_.micros(0, 20'000));
  }

  bool running() const { return !stopping_ && !process_.killed(); }
  bool killed() const { return process_.killed(); }
  std::size_t lanes() const { return rabbits_.size(); }
  simulated_rabbit& rabbit(std::size_t lane) { return rabbits_[lane]; }
  bool has_ack(std::size_t row) const { return acked_.contains(row); }
  // Null: it does not lead this shard.
  const simulated_leader* leader_of(std::size_t shard) const {
    return const_cast<simulated_relay*>(this)->find_leader(shard);
  }
  bool has_session(std::uint64_t server_session) const {
    return std::ranges::any_of(
        leaders_, [&](const simulated_leader& one) { return one.server_session() == server_session; });
  }

 private:
  void add_lane(simulated_exchange& exchange) {
    auto& one = rabbits_.emplace_back(world_, process_, exchange);
    one.on_acked = [this](std::size_t row) { acked_.insert(row); };
    one.on_published = [this](std::size_t row, int content) {
      acked_.erase(row);
      if (on_sent) on_sent(row, content);
      if (table_.on_step) table_.on_step(row, "sent");
      const auto shard = static_cast<int>(table_.shard_of(table_.rows[row].of));
      if (world_.now() - answered_at_[shard] >= lead_lasts(how_.claim_timeout))
        complain_("nothing is sent long after the latest question that was answered");
    };
    pool_.add(wires_.emplace_back(one, pool_, how_.lane));
    one.connect(wires_.back());
  }

  flow::leader_limits limits() const {
    return {.stream = how_.stream,
            .doorbell = {.shortest_poll = how_.sweep_interval, .longest_poll = how_.sweep_interval},
            .sweep_interval = how_.sweep_interval,
            .claim_timeout = how_.claim_timeout};
  }

  void add_leader() {
    auto its_limits = limits();
    its_limits.stream.seed = static_cast<std::uint64_t>(world_.between(1, 1'000'000));
    leaders_.emplace_back(
        world_, process_, table_, with_, pool_, share_, its_limits, how_.counts_others && with_.makes_way,
        simulated_leader::hooks{
            .on_led =
                [this](int shard, const flow::saved_position& from) {
                  if (on_lead) on_lead(static_cast<std::size_t>(shard), from);
                  if (!stopping_ && share_.lacks_leader()) add_leader();
                },
            .on_lead_lost =
                [this] {
                  if (!how_.renews_lanes) return;
                  for (auto& each : rabbits_) each.lose();
                },
            .on_answered = [this](int shard, clock::time_point asked_at) { answered_at_[shard] = asked_at; },
            .complain = complain_});
  }

  simulated_leader* find_leader(std::size_t shard) {
    const auto found = std::ranges::find_if(leaders_, [shard](const auto& one) { return one.leads(shard); });
    return found == leaders_.end() ? nullptr : &*found;
  }

  void every(clock::duration interval, std::function<void()> what) {
    world_.after(interval, [this, interval, what = std::move(what)] {
      process_.run([this, interval, what] {
        what();
        every(interval, what);
      });
    });
  }

  virtual_world& world_;
  simulated_postgres& table_;
  settings how_;
  const rules& with_;
  complaint complain_;
  virtual_process process_;
  flow::lanes pool_;
  std::deque<simulated_rabbit> rabbits_;
  std::deque<flow::lane> wires_;
  flow::fair_share share_;
  std::deque<simulated_leader> leaders_;
  // By shard: when the latest question was put that was answered.
  std::map<int, clock::time_point> answered_at_;
  std::set<std::size_t> acked_;
  bool stopping_ = false;
};

}  // namespace outboxd::test
