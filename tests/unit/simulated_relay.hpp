// simulated_relay: one relay's process: its lanes, a leader for each shard, and its timers.
#pragma once

#include <deque>
#include <utility>

#include "simulated_leader.hpp"
#include "simulated_rabbit.hpp"

namespace outboxd::test {

class simulated_relay final : private simulated_host {
 public:
  struct settings {
    flow::stream_limits stream;
    flow::lane_limits lane;
    clock::duration sweep_interval = milliseconds(300);
    milliseconds claim_timeout{2'000};
    bool renews_lanes = true;   // when a session is lost
    bool shares_shards = true;  // with the other relays: makes way with more than its share
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
        complain_(std::move(complain)),
        process_(world),
        pool_([this] { return world_.now(); }, {}, {"outbox", {}, {}}, flow::rate_limit(how.max_rate)) {
    for (int i = 0; i < lane_count; ++i) add_lane(exchange);
    for (std::size_t shard = 0; shard < table.shards(); ++shard)
      leaders_.emplace_back(world, process_, table, with, pool_, limits_for(shard), shard,
                            static_cast<simulated_host&>(*this));
    every(milliseconds(100), [this] { pool_.check_deadlines(); });
    if (how.max_rate > 0)
      every(milliseconds(10), [this] {
        if (pool_.next_pump() && *pool_.next_pump() <= world_.now()) pool_.on_lane_progress();
      });
    every(how.sweep_interval, [this] {
      for (auto& one : leaders_) one.sweep();
    });
  }

  std::function<void(std::size_t shard, const flow::saved_position& from)> on_lead;

  void ring(std::size_t shard) { ring(shard, &flow::stream::ring); }
  void ring_pauses(std::size_t shard) { ring(shard, &flow::stream::ring_pauses); }
  // Something may be due.
  void ring_due(std::size_t shard) { ring(shard, &flow::stream::ring_due); }

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
  // Somebody says that the lead of one shard is asked for.
  void hear_request(std::size_t shard) {
    process_.run([this, shard] { leaders_[shard].hear_request(); });
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
  void lose_session(std::size_t shard) { leaders_[shard].cut(world_.millis(0, 300), world_.millis(0, 300)); }
  void crash_of_server() {
    for (auto& one : leaders_) one.cut(clock::duration(0), world_.micros(0, 20'000));
  }

  bool running() const { return !stopping_ && !process_.killed(); }
  bool killed() const { return process_.killed(); }
  std::size_t lanes() const { return rabbits_.size(); }
  simulated_rabbit& rabbit(std::size_t lane) { return rabbits_[lane]; }
  bool has_ack(std::size_t row) const { return acked_.contains(row); }
  bool leads(std::size_t shard) const { return leaders_[shard].leads(); }
  const simulated_leader& leader_of(std::size_t shard) const { return leaders_[shard]; }

 private:
  void add_lane(simulated_exchange& exchange) {
    auto& one = rabbits_.emplace_back(world_, process_, exchange);
    one.on_acked = [this](std::size_t row) { acked_.insert(row); };
    one.on_published = [this](std::size_t row, int content) {
      acked_.erase(row);
      if (on_sent) on_sent(row, content);
      if (table_.on_step) table_.on_step(row, "sent");
      const auto& leader = leaders_[table_.shard_of(table_.rows[row].of)];
      if (world_.now() - leader.answered_at() >= lead_lasts(how_.claim_timeout))
        complain_("nothing is sent long after the latest question that was answered");
    };
    pool_.add(wires_.emplace_back(one, pool_, how_.lane));
    one.connect(wires_.back());
  }

  flow::stream_limits limits_for(std::size_t shard) {
    auto out = how_.stream;
    out.seed = static_cast<std::uint64_t>(world_.between(1, 1'000'000)) + shard;
    return out;
  }

  void ring(std::size_t shard, void (flow::stream::*what)()) {
    process_.run([this, shard, what] { leaders_[shard].ring(what); });
  }

  std::size_t led() const {
    return static_cast<std::size_t>(std::ranges::count_if(leaders_, &simulated_leader::leads));
  }
  std::size_t share() const { return (table_.shards() + relays_ - 1) / relays_; }

  bool has_broker() const override { return pool_.any_up(); }
  // A try counts as a lead: it may become one.
  bool may_lead() const override {
    const auto idle = static_cast<std::size_t>(std::ranges::count_if(leaders_, &simulated_leader::stands_by));
    return leaders_.size() - idle < share();
  }
  bool has_too_many(const simulated_leader& one) const override {
    if (led() <= share()) return false;
    const auto last = std::find_if(leaders_.rbegin(), leaders_.rend(),
                                   [](const auto& each) { return each.leads() && each.may_make_way(); });
    return last != leaders_.rend() && &*last == &one;
  }
  bool shows_presence(const simulated_leader& one) const override { return &one == &leaders_.front(); }
  bool is_present() const override { return leaders_.front().present(); }
  void on_counted(int relays) override {
    if (how_.shares_shards) relays_ = static_cast<std::size_t>(std::max(1, relays));
  }
  void on_led(std::size_t shard, const flow::saved_position& from) override {
    if (on_lead) on_lead(shard, from);
  }
  void on_lead_lost() override {
    if (how_.renews_lanes)
      for (auto& each : rabbits_) each.lose();
  }
  void complain(const char* what) override { complain_(what); }

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
  complaint complain_;
  virtual_process process_;
  flow::lanes pool_;
  std::deque<simulated_rabbit> rabbits_;
  std::deque<flow::lane> wires_;
  std::deque<simulated_leader> leaders_;
  std::set<std::size_t> acked_;
  std::size_t relays_ = 1;  // that have a broker, when they were last counted
  bool stopping_ = false;
};

}  // namespace outboxd::test
