// simulated_leader: one relay's process: its lanes, a stream and a session for each shard, and its timers.
#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "simulated_rabbit.hpp"
#include "simulated_store.hpp"

namespace outboxd::test {

class simulated_leader {
 public:
  struct settings {
    flow::stream_limits stream;
    flow::lane_limits lane;
    clock::duration sweep_interval = milliseconds(300);
    milliseconds claim_timeout{2'000};
    bool renews_lanes = true;  // when a session is lost
    std::int64_t max_rate = 0;
  };
  using complaint = std::function<void(const char*)>;
  static milliseconds lead_lasts(milliseconds claim_timeout) { return claim_timeout * 3 / 4; }

  simulated_leader(virtual_world& world, simulated_postgres& table, simulated_exchange& exchange,
                   int lane_count, const settings& how, const rules& with, complaint complain)
      : world_(world),
        table_(table),
        how_(how),
        with_(with),
        complain_(std::move(complain)),
        process_(world),
        pool_([this] { return world_.now(); }, {}, {"outbox", {}, {}}, flow::rate_limit(how.max_rate)) {
    for (int i = 0; i < lane_count; ++i) {
      auto& one = rabbits_.emplace_back(world, process_, exchange);
      one.on_acked = [this](std::size_t row) { acked_.insert(row); };
      one.on_published = [this](std::size_t row) {
        acked_.erase(row);
        if (table_.on_step) table_.on_step(row, "sent");
        const auto& session = shards_[table_.shard_of(table_.rows[row].of)].session;
        if (world_.now() - session.answered_at() >= lead_lasts(how_.claim_timeout))
          complain_("nothing is sent long after the latest question that was answered");
      };
      pool_.add(wires_.emplace_back(one, pool_, how.lane));
      one.connect(wires_.back());
    }
    for (std::size_t shard = 0; shard < table.shards(); ++shard) open(shard);
    every(milliseconds(100), [this] { pool_.check_deadlines(); });
    if (how.max_rate > 0)
      every(milliseconds(10), [this] {
        if (pool_.next_pump() && *pool_.next_pump() <= world_.now()) pool_.pump();
      });
    every(how.sweep_interval, [this] {
      for (auto& one : shards_)
        if (one.leads) one.stream.sweep(), arrange(one);
    });
  }

  std::function<void(std::size_t shard, const flow::saved_position& from)> on_lead;

  void ring(std::size_t shard) {
    process_.run([this, shard] {
      auto& one = shards_[shard];
      if (one.leads) one.stream.ring(), arrange(one);
    });
  }
  void ring_pauses(std::size_t shard) {
    process_.run([this, shard] {
      auto& one = shards_[shard];
      if (one.leads) one.stream.ring_pauses(), arrange(one);
    });
  }
  // Something may be due.
  void ring_due(std::size_t shard) {
    process_.run([this, shard] {
      auto& one = shards_[shard];
      if (one.leads) one.stream.ring_due(), arrange(one);
    });
  }

  // In order: each stream drains, then the process ends.
  void stop(clock::duration grace) {
    if (std::exchange(stopping_, true)) return;
    process_.run([this] {
      for (auto& one : shards_) hand_over(one);
    });
    world_.after(grace, [this] {
      process_.run([this] {
        for (auto& one : shards_)
          if (one.leads) one.stream.abandon(), arrange(one);
      });
    });
    world_.after(grace + milliseconds(1'500), [this] { kill(); });
  }
  // Gives one shard up for a while.
  void hand_over_shard(std::size_t shard) {
    process_.run([this, shard] { hand_over(shards_[shard]); });
  }
  void kill() {
    if (process_.killed()) return;
    process_.kill();
    for (auto& one : shards_) one.session.cut(world_.micros(0, 20'000), clock::duration(0));
    for (auto& one : rabbits_) one.end();
  }
  void freeze(clock::duration pause) {
    const auto until = world_.now() + pause;
    process_.freeze_until(until);
    for (auto& one : rabbits_) one.hold_until(until);
    world_.after(how_.claim_timeout, [this] {
      if (process_.frozen() && !process_.killed())
        for (auto& one : shards_) one.session.cut(clock::duration(0), clock::duration(0));
    });
  }
  void lose_session(std::size_t shard) {
    shards_[shard].session.cut(world_.millis(0, 300), world_.millis(0, 300));
  }
  void crash_of_server() {
    for (auto& one : shards_) one.session.cut(clock::duration(0), world_.micros(0, 20'000));
  }

  bool running() const { return !stopping_ && !process_.killed(); }
  bool killed() const { return process_.killed(); }
  std::size_t lanes() const { return rabbits_.size(); }
  simulated_rabbit& rabbit(std::size_t lane) { return rabbits_[lane]; }
  bool has_ack(std::size_t row) const { return acked_.contains(row); }
  bool leads(std::size_t shard) const { return shards_[shard].leads; }
  std::uint64_t server_session(std::size_t shard) const { return shards_[shard].session.server_session(); }
  const flow::stream& stream_of(std::size_t shard) const { return shards_[shard].stream; }
  // The stream has read all that was visible, and has nothing under way.
  bool settled(std::size_t shard) const {
    return shards_[shard].leads && !shards_[shard].asked && shards_[shard].complete;
  }
  const std::vector<event_id>& owed(std::size_t shard) const { return shards_[shard].owed; }

 private:
  struct led {
    led(simulated_leader& of, std::size_t which)
        : shard(which),
          session(of.world_, of.process_, of.table_, of.with_, which),
          stream(of.pool_, of.limits_for(which),
                 {.on_progress = [this, &of] { of.arrange(*this); },
                  .on_published = {},
                  .on_delivered = {},
                  .on_failed = {},
                  .on_stuck = {},
                  .on_pauses = {}}) {}
    std::size_t shard;
    simulated_store session;
    flow::stream stream;
    bool leads = false;
    bool drains = false;
    bool asked = false;
    bool complete = false;    // since the lead was taken
    std::uint64_t tries = 0;  // who tries the lock: the latest alone
    clock::time_point not_before{};
    clock::time_point timer = clock::time_point::max();
    std::uint64_t generation = 0;
    std::vector<event_id> owed;  // unsettled ones of a former leader
    std::optional<flow::position> kept;
  };

  flow::stream_limits limits_for(std::size_t shard) {
    auto out = how_.stream;
    out.seed = static_cast<std::uint64_t>(world_.between(1, 1'000'000)) + shard;
    return out;
  }

  void open(std::size_t shard) {
    led& one = shards_.emplace_back(*this, shard);
    one.session.on_up = [this, &one] { stand_by(one); };
    one.session.on_lost = [this, &one] { lost(one); };
    one.session.how_far = [&one] { return one.stream.at(); };
    one.session.is_loading = [&one] { return one.stream.now_in() == flow::stream::phase::loading; };
    one.session.on_answer = [this, &one](flow::store_answer answer) {
      one.asked = false;
      const auto news = one.stream.on_answer(std::move(answer));
      if (news.complete) one.complete = true;
      arrange(one);
    };
    one.session.connect();
  }

  void stand_by(led& one) {
    if (one.leads || stopping_ || !one.session.up()) return;
    world_.after(std::max<clock::duration>(one.not_before - world_.now(), world_.micros(0, 100'000)),
                 [this, &one, mine = ++one.tries] {
                   process_.run([this, &one, mine] {
                     if (mine != one.tries || stopping_ || !one.session.up()) return;
                     one.session.lead([this, &one](const std::optional<flow::saved_position>& from) {
                       if (!from) return stand_by(one);
                       if (stopping_) return one.session.unlock();
                       take(one, *from);
                     });
                   });
                 });
  }

  void take(led& one, flow::saved_position from) {
    one.leads = true;
    one.drains = one.asked = one.complete = false;
    one.owed = from.unsettled;
    if (on_lead) on_lead(one.shard, from);
    if (!with_.position_dropped && one.kept) from.at = *one.kept;
    one.stream.start(std::move(from), payload_type::jsonb);
    arrange(one);
  }

  void lost(led& one) {
    ++one.tries;
    if (!one.leads) return;
    one.leads = one.asked = false;
    one.kept = one.stream.at();
    one.stream.lost();
    if (how_.renews_lanes)
      for (auto& each : rabbits_) each.lose();
  }

  void hand_over(led& one) {
    if (!one.leads || std::exchange(one.drains, true)) return;
    one.stream.drain();
    arrange(one);
    world_.after(world_.millis(1, 300), [this, &one] { process_.run([this, &one] { go_on(one); }); });
  }

  void go_on(led& one) {
    if (!one.leads || !one.drains || stopping_) return;
    if (one.asked)  // between two requests
      return world_.after(milliseconds(1), [this, &one] { process_.run([this, &one] { go_on(one); }); });
    one.drains = one.complete = false;
    one.stream.go_on();
    arrange(one);
  }

  void arrange(led& one) {
    if (!one.leads || process_.killed()) return;
    if (one.stream.drained()) {
      one.leads = false;
      one.stream.lost();
      one.session.unlock();
      one.not_before = world_.now() + milliseconds(500);
      return stand_by(one);
    }
    if (one.asked) return;
    const auto when = one.stream.next_at();
    if (when == clock::time_point::max()) return;
    if (when > world_.now()) return set_timer(one, when);
    if (auto what = one.stream.next()) {
      one.asked = true;
      return one.session.execute(std::move(*what));
    }
    if (one.stream.drained()) return arrange(one);
    if (const auto again = one.stream.next_at(); again > world_.now()) return set_timer(one, again);
    complain_("who says that there is something to ask asks it");
    set_timer(one, world_.now() + milliseconds(5));
  }

  void set_timer(led& one, clock::time_point when) {
    if (when == clock::time_point::max() || (one.timer == when && when > world_.now())) return;
    one.timer = when;
    world_.at(when, [this, &one, mine = ++one.generation] {
      process_.run([this, &one, mine] {
        if (mine != one.generation) return;
        one.timer = clock::time_point::max();
        arrange(one);
      });
    });
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
  std::deque<led> shards_;
  std::set<std::size_t> acked_;
  bool stopping_ = false;
};

}  // namespace outboxd::test
