// simulated_leader: one session of a relay, for one shard: it stands by, leads, and drives lead and stream as
// relay/leader does.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "flow/lead.hpp"
#include "simulated_store.hpp"

namespace outboxd::test {

class simulated_leader;

// The relay that has this leader.
class simulated_host {
 public:
  virtual bool has_broker() const = 0;
  virtual bool may_lead() const = 0;
  virtual bool has_too_many(const simulated_leader& one) const = 0;
  // One leader of the relay shows that the relay has a broker.
  virtual bool shows_presence(const simulated_leader& one) const = 0;
  virtual bool is_present() const = 0;
  virtual void on_counted(int relays) = 0;
  virtual void on_led(std::size_t shard, const flow::saved_position& from) = 0;
  virtual void on_lead_lost() = 0;
  virtual void complain(const char* what) = 0;

 protected:
  ~simulated_host() = default;
};

class simulated_leader {
 public:
  enum class state : std::uint8_t {
    standing_by,
    trying,   // has asked for the lead, or for the saved position
    leading,  // and waits for no answer
    asking,   // leads; waits for an answer
  };

  simulated_leader(virtual_world& world, virtual_process& process, simulated_postgres& table,
                   const rules& with, flow::lanes& pool, flow::stream_limits limits, std::size_t shard,
                   simulated_host& host)
      : world_(world),
        process_(process),
        table_(table),
        with_(with),
        host_(host),
        shard_(shard),
        session_(world, process, table, with, shard),
        stream_(pool, std::move(limits),
                {.on_progress = [this] { turn(); },
                 .on_published = {},
                 .on_delivered = {},
                 .on_failed = {},
                 .on_stuck = {},
                 .on_changed_after_send = {},
                 .on_pauses = {}}) {
    session_.on_up = [this] { stand_by(); };
    session_.on_lost = [this] { on_lost(); };
    session_.how_far = [this] { return stream_.at(); };
    session_.is_loading = [this] { return stream_.now_in() == flow::stream::phase::loading; };
    session_.on_answer = [this](flow::store_answer answer) { on_answer(std::move(answer)); };
    session_.connect();
  }

  // In the relay's process.
  void sweep() {
    if (!leads()) return;
    rounds_due_ = true;
    stream_.sweep();
    turn();
  }
  void ring(void (flow::stream::*what)()) {
    if (!leads()) return;
    (stream_.*what)();
    turn();
  }
  // The word for it, true or forged.
  void hear_request() {
    lead_.hear_request(world_.now());
    turn();
  }
  void stop() {
    lead_.stop();
    leads() ? turn() : session_.cut({}, {});
  }
  void abandon() {
    if (!leads()) return;
    stream_.abandon();
    turn();
  }

  void cut(clock::duration server_after, clock::duration client_after) {
    session_.cut(server_after, client_after);
  }

  bool leads() const { return state_ == state::leading || state_ == state::asking; }
  bool stands_by() const { return state_ == state::standing_by; }
  bool may_make_way() const { return lead_.may_make_way(world_.now()); }
  bool present() const { return present_; }
  clock::time_point answered_at() const { return session_.answered_at(); }
  std::uint64_t server_session() const { return session_.server_session(); }
  const flow::stream& stream() const { return stream_; }
  // The stream has read all that was visible, and has nothing under way.
  bool settled() const { return state_ == state::leading && complete_; }
  const std::vector<std::int64_t>& owed() const { return owed_; }

 private:
  void stand_by() {
    world_.after(world_.micros(0, 100'000), [this, mine = ++looks_] {
      process_.run([this, mine] {
        if (mine == looks_) look();
      });
    });
  }

  void look() {
    if (state_ != state::standing_by || lead_.stopping() || !session_.up()) return;
    if (is_to_show()) return show_presence(&simulated_leader::look);
    if (!host_.has_broker() || !lead_.may_try(world_.now()) || !host_.may_lead()) return stand_by();
    state_ = state::trying;
    session_.lead([this](const std::optional<flow::saved_position>& from) {
      if (from)
        return session_.look([this, from](bool asked) { is_given_up(asked) ? give_up() : take(*from); });
      state_ = state::standing_by;
      stand_by();
    });
  }

  // Who asks for the lead may have it, as this look at the locks says.
  bool is_given_up(bool asked) {
    const auto before = lead_.now_in();
    const bool gives = lead_.on_looked(asked, world_.now());
    if (!asked && (gives || lead_.now_in() != before))
      host_.complain("a lead is given up for who may not have it");
    return gives || (asked && before == flow::lead::state::standing_by && !with_.request_ends);
  }

  void take(flow::saved_position from) {
    lead_.on_taken(world_.now());
    complete_ = false;
    rounds_due_ = true;
    owed_ = from.unsettled;
    host_.on_led(shard_, from);
    if (!with_.position_dropped && kept_) from.at = *kept_;
    stream_.start(std::move(from), payload_type::jsonb);
    state_ = state::leading;
    turn();
  }

  // What the leader of the product does in a loop, between two questions.
  void turn() {
    if (state_ != state::leading || process_.killed()) return;
    const auto now = world_.now();
    if (lead_.wants_look(now)) return look_for_request();
    lead_.on_broker(host_.has_broker() || !with_.makes_way, now);
    if (lead_.wants_count(now)) return count_relays();
    if (heed_lead() || stream_.drained()) return lead_.leaving() ? session_.cut({}, {}) : give_up();
    if (rounds_due_) {
      if (is_to_show()) return show_presence(&simulated_leader::turn);
      rounds_due_ = false;
      if (table_.shards() > 1) return count_relays();
    }
    if (stream_.next_at() <= now) {
      if (auto what = stream_.next()) {
        state_ = state::asking;
        return session_.execute(std::move(*what));
      }
      if (stream_.drained()) return turn();
      if (stream_.next_at() <= now) {
        host_.complain("who says that there is something to ask asks it");
        return wake_at(now + milliseconds(5));
      }
    }
    wake_at(std::min(stream_.next_at(), lead_.next(stream_.meets_lock())));
  }

  bool heed_lead() {
    if (stream_.drained()) return true;
    switch (lead_.step(host_.has_too_many(*this), stream_.meets_lock(), world_.now())) {
      case flow::lead::action::none:
        return false;
      case flow::lead::action::drain:
        drain();
        return false;
      case flow::lead::action::lead_on:
        if (!with_.leads_on) return false;
        complete_ = false;
        stream_.go_on();
        return false;
      case flow::lead::action::give_up:
        return true;
    }
    return false;
  }

  void drain() {
    if (stream_.now_in() != flow::stream::phase::draining) stream_.drain();
  }

  void on_answer(flow::store_answer answer) {
    if (session_.turned_read_only()) {
      lead_.leave();
      drain();
    }
    if (stream_.on_answer(std::move(answer)).complete) complete_ = true;
    state_ = state::leading;
    turn();
  }

  void give_up() {
    state_ = state::standing_by;
    lead_.on_given_up(world_.now());
    stream_.lost();
    session_.unlock();
    stand_by();
  }

  void on_lost() {
    ++looks_;
    present_ = false;
    const bool led = leads();
    state_ = state::standing_by;
    if (!led) return;
    kept_ = stream_.at();
    stream_.lost();
    lead_.on_lost();
    host_.on_lead_lost();
  }

  bool is_able() const { return host_.has_broker() && !lead_.stopping(); }
  bool is_to_show() const { return host_.shows_presence(*this) && present_ != is_able(); }
  void show_presence(void (simulated_leader::*then)()) {
    const auto before = state_;
    if (leads()) state_ = state::asking;
    session_.show(is_able(), [this, able = is_able(), before, then] {
      present_ = able;
      state_ = before;
      (this->*then)();
    });
  }

  // Each shard has a session of its own here, so whichever leads counts for its relay.
  void count_relays() {
    state_ = state::asking;
    session_.count([this, own = host_.is_present() ? 1 : 0](int relays) {
      state_ = state::leading;
      lead_.on_counted(relays - own, world_.now());
      host_.on_counted(relays);
      turn();
    });
  }

  void look_for_request() {
    state_ = state::asking;
    session_.look([this](bool asked) {
      state_ = state::leading;
      is_given_up(asked);
      turn();
    });
  }

  void wake_at(clock::time_point when) {
    if (when == clock::time_point::max() || (timer_ == when && when > world_.now())) return;
    timer_ = when;
    world_.at(when, [this, mine = ++generation_] {
      process_.run([this, mine] {
        if (mine != generation_) return;
        timer_ = clock::time_point::max();
        turn();
      });
    });
  }

  virtual_world& world_;
  virtual_process& process_;
  simulated_postgres& table_;
  const rules& with_;
  simulated_host& host_;
  std::size_t shard_;
  simulated_store session_;
  flow::stream stream_;
  flow::lead lead_;
  state state_ = state::standing_by;
  bool present_ = false;     // holds PRESENT
  bool rounds_due_ = false;  // since the latest sweep
  bool complete_ = false;    // everything visible was read since it leads, or leads on
  std::uint64_t looks_ = 0;  // whose turn it is to look for the lead: the latest one's alone
  clock::time_point timer_ = clock::time_point::max();
  std::uint64_t generation_ = 0;
  std::vector<std::int64_t> owed_;  // unsettled ones of a former leader
  std::optional<flow::position> kept_;
};

}  // namespace outboxd::test
