// simulated_outbox: the outbox's table with its shard locks, and a session with it, after sql/0003_claim.sql.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "flow_notation.hpp"
#include "relay/outbox.hpp"
#include "simulated_world.hpp"

namespace outboxd::test {

struct simulated_event {
  enum class state { pending, waiting, published, dead };
  std::string aggregate;
  std::string type;
  int shard = 0;
  state status = state::pending;
  int attempts = 0;
  clock::time_point available_at{};
  std::optional<std::int64_t> behind;
};

class simulated_table {
 public:
  using state = simulated_event::state;
  using owner = const void*;

  std::deque<simulated_event> rows;  // seq is the index plus one
  std::size_t batch = 8;
  std::size_t shards_per_claim = 2;
  std::function<void(std::int64_t seq)> on_marked;  // as published

  simulated_event& row(std::int64_t seq) { return rows[static_cast<std::size_t>(seq - 1)]; }
  simulated_event& row(const event_id& id) { return row(seq_of(id)); }

  outboxd::batch claim(owner who, relay::reach how_far) {
    const std::size_t most = shards_per_claim + (how_far == relay::reach::all ? 1 : 0);
    const auto owned = lock_shards(who, most);
    outboxd::batch out;
    out.more = owned.size() == most;
    std::size_t found = 0;
    std::set<int> waiting;  // shards
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!owned.contains(rows[i].shard)) continue;
      if (rows[i].status == state::waiting) waiting.insert(rows[i].shard);
      if (rows[i].status == state::pending && ++found <= batch) out.events.push_back(event_at(i));
    }
    out.full = found > batch;
    out.complete = !out.full && !out.more;
    for (event& one : out.events) one.has_followers = waiting.contains(row(one.seq).shard);
    if (out.events.empty()) unlock(who);
    return out;
  }

  // One transaction.
  void settle(owner who, const relay::settlement& what, clock::time_point now) {
    for (const event_id& id : what.published) {
      row(id).status = state::published;
      on_marked(seq_of(id));
    }
    for (const relay::setback& one : what.set_back) {
      simulated_event& which = row(one.id);
      which.status = one.what == relay::setback::kind::dead ? state::dead : state::waiting;
      which.attempts += one.counts_attempt ? 1 : 0;
      which.available_at = now + one.delay;
      which.behind = one.behind;
    }
    const std::set<std::int64_t> free(what.released.begin(), what.released.end());
    for (simulated_event& one : rows)
      if (one.behind && free.contains(*one.behind)) make_pending(one);
    unlock(who);
  }

  bool locked() const { return !locks_.empty(); }
  void unlock(owner who) {
    std::erase_if(locks_, [&](const auto& lock) { return lock.second == who; });
  }
  bool holds(owner who) const {
    return std::any_of(locks_.begin(), locks_.end(), [&](const auto& lock) { return lock.second == who; });
  }

  // True: there is work.
  bool sweep(clock::time_point now) {
    bool due = false;
    for (simulated_event& one : rows) {
      if (one.status == state::waiting && !one.behind && one.available_at <= now) make_pending(one);
      if (one.behind && row(*one.behind).status != state::waiting &&
          row(*one.behind).status != state::pending)
        make_pending(one);
      due = due || one.status == state::pending;
    }
    return due;
  }

  bool drained() const {
    return std::all_of(rows.begin(), rows.end(), [](const simulated_event& one) {
      return one.status == state::published || one.status == state::dead;
    });
  }

 private:
  static void make_pending(simulated_event& one) {
    one.status = state::pending;
    one.behind.reset();
  }

  // The oldest first; the order means nothing, for the SQL begins at a random shard.
  std::set<int> lock_shards(owner who, std::size_t most) {
    std::set<int> tried;
    std::set<int> owned;
    for (const simulated_event& one : rows) {
      if (owned.size() == most) break;
      if (one.status != state::pending || !tried.insert(one.shard).second) continue;
      if (locks_.try_emplace(one.shard, who).second) owned.insert(one.shard);
    }
    return owned;
  }

  event event_at(std::size_t index) const {
    const simulated_event& from = rows[index];
    event out;
    out.seq = static_cast<std::int64_t>(index) + 1;
    out.id = id_of(out.seq);
    out.aggregate_type = "t";
    out.aggregate_id = from.aggregate;
    out.event_type = from.type;
    out.attempts = from.attempts;
    for (std::size_t i = 0; i < index && !out.behind; ++i)
      if (rows[i].status == state::waiting && rows[i].aggregate == from.aggregate)
        out.behind = static_cast<std::int64_t>(i) + 1;
    return out;
  }

  std::map<int, owner> locks_;
};

// One lane's session. The server ends it when it holds a claim for longer than claim_timeout.
class simulated_outbox final : public relay::outbox {
 public:
  simulated_outbox(simulated_world& world, simulated_process& process, simulated_table& table,
                   milliseconds claim_timeout)
      : world_(world), process_(process), table_(table), claim_timeout_(claim_timeout) {}

  void connect(relay::outbox_listener& listener) {
    listener_ = &listener;
    world_.after(world_.delay(0, 300), [this] {
      up_ = true;
      tell([](relay::outbox_listener& lane) { lane.on_outbox_up(); });
    });
  }

  // The connection breaks. What was asked and not yet carried out never is; what was, stays.
  void lose() {
    if (!std::exchange(up_, false)) return;
    ++session_;
    table_.unlock(this);
    process_.run([this] {
      ++heard_;
      listener_->on_outbox_down();
    });
    connect(*listener_);
  }

  // The process is gone, and with it its socket.
  void end() {
    up_ = false;
    ++session_;
    table_.unlock(this);
  }

  void claim(relay::reach how_far) override { ask(std::nullopt, relay::then::claim, how_far); }
  void settle(const relay::settlement& what, relay::then next) override {
    ask(what, next, relay::reach::share);
  }

 private:
  // Arrives at the server, is carried out there, and its answer comes back: two moments, and a loss may fall between.
  void ask(std::optional<relay::settlement> what, relay::then next, relay::reach how_far) {
    if (heard_ != session_ || !up_) return;  // the lane has not heard of the loss yet
    world_.after(world_.delay(0, 3), [this, mine = session_, what = std::move(what), next, how_far] {
      if (mine != session_) return;
      ++transaction_;
      if (what) table_.settle(this, *what, world_.now());
      if (next == relay::then::release) return tell([](relay::outbox_listener& lane) { lane.on_released(); });
      const batch claimed = table_.claim(this, how_far);
      world_.after(claim_timeout_, [this, mine_too = transaction_] {
        if (mine_too == transaction_ && table_.holds(this)) lose();
      });
      tell([claimed](relay::outbox_listener& lane) { lane.on_claimed(claimed); });
    });
  }

  void tell(std::function<void(relay::outbox_listener&)> what) {
    world_.after(world_.delay(0, 3), [this, mine = session_, what = std::move(what)] {
      if (mine != session_) return;
      process_.run([this, mine, what] {
        if (mine == heard_) what(*listener_);
      });
    });
  }

  simulated_world& world_;
  simulated_process& process_;
  simulated_table& table_;
  milliseconds claim_timeout_;
  relay::outbox_listener* listener_ = nullptr;
  bool up_ = false;
  std::uint64_t session_ = 0;
  std::uint64_t heard_ = 0;  // the session that the lane believes in
  std::uint64_t transaction_ = 0;
};

}  // namespace outboxd::test
