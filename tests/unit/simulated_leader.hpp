// simulated_leader: drives a flow::leader on a session with the simulated PostgreSQL, as relay/leader does on
// a real one.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "flow/lead/leader.hpp"
#include "simulated_session.hpp"

namespace outboxd::test {

class simulated_leader {
 public:
  // What the relay wants to know; all of them.
  struct hooks {
    std::function<void(int shard, const flow::saved_position& from)> on_led;
    std::function<void()> on_lead_lost;  // with its session
    std::function<void(int shard, clock::time_point asked_at)> on_answered;
    std::function<void(const char* what)> complain;
  };

  simulated_leader(virtual_world& world, virtual_process& process, simulated_postgres& table,
                   const rules& with, flow::lanes& pool, flow::fair_share& share,
                   const flow::leader_limits& limits, bool counts_others, hooks tell)
      : world_(world),
        process_(process),
        table_(table),
        with_(with),
        counts_others_(counts_others),
        tell_(std::move(tell)),
        session_(world, process, table, with),
        flow_(pool, share, limits, [this](const flow::any_notice& what) { on_notice(what); }) {
    session_.on_up = [this] {
      flow_.on_session(payload_type::jsonb, world_.now());
      state_ = state::waiting;
      turn();
    };
    session_.on_lost = [this] { on_lost(); };
    session_.how_far = [this] { return stream().at(); };
    session_.is_loading = [this] { return stream().now_in() == flow::stream::phase::loading; };
    session_.connect();
  }

  // In the relay's process.
  void hear(flow::word what) {
    flow_.hear(what, 1, world_.now());
    turn();
  }
  void adopt(const flow::leader_limits& changed) {
    flow_.adopt(changed, world_.now());
    turn();
  }
  void stop() {
    flow_.stop();
    flow_.leads() ? turn() : session_.cut({}, {});
  }
  void abandon() {
    if (!flow_.leads()) return;
    flow_.abandon();
    turn();
  }

  void cut(clock::duration server_after, clock::duration client_after) {
    session_.cut(server_after, client_after);
  }

  bool leads(std::size_t shard) const { return leads_ && flow_.leads() == static_cast<int>(shard); }
  std::uint64_t server_session() const { return session_.server_session(); }
  const flow::stream& stream() const { return flow_.events(); }
  // The stream has read all that was visible, and has nothing under way.
  bool settled() const { return leads_ && state_ == state::waiting && flow_.has_read_all(); }
  // Unsettled ones of a former leader.
  const std::vector<std::int64_t>& owed() const { return from_.unsettled; }

 private:
  enum class state : std::uint8_t {
    away,     // no session
    turning,  // asks the leader what to do
    asking,   // waits for an answer
    waiting,  // for time, or for something to happen
  };

  void turn() {
    if (state_ != state::waiting || process_.killed()) return;
    state_ = state::turning;
    while (state_ == state::turning) {
      auto what = flow_.next(world_.now());
      std::visit([this](auto& one) { carry_out(one); }, what);
    }
  }

  // What comes of it is told later, never from inside the call.
  template <class Answer>
  auto then(Answer told) {
    state_ = state::asking;
    return [this, told = std::move(told)](auto&&... answer) {
      state_ = state::waiting;
      told(std::forward<decltype(answer)>(answer)...);
      turn();
    };
  }
  auto nothing() {
    return then([] {});
  }

  void carry_out(flow::task::wait& what) {
    state_ = state::waiting;
    if (what.until > world_.now()) return wake_at(what.until);
    tell_.complain("who says that there is something to ask asks it");
    wake_at(world_.now() + milliseconds(5));
  }
  void carry_out(flow::task::end_session&) {
    state_ = state::away;
    session_.cut({}, {});
  }
  // Writers never ring here: sleep_model is about that.
  void carry_out(flow::task::use_sleep_lock&) { tell_.complain("nobody sleeps where nobody rings"); }
  // Nobody hangs without being found, no row of a shard is ever gone, and locks have no names.
  void carry_out(flow::task::end_hanging_leaders&) {}
  void carry_out(flow::task::end_former_sleeper&) {}
  void carry_out(flow::task::look_for_lock_holders&) {}
  void carry_out(flow::task::mend_shards&) {}
  void carry_out(flow::task::listen&) { session_.ask(nothing()); }
  void carry_out(flow::task::stop_listening&) { session_.ask(nothing()); }
  void carry_out(flow::task::allow_writes&) { session_.ask(nothing()); }
  void carry_out(flow::task::release_lead&) {
    if (!leads_ && !asked_for_) tell_.complain("a lead is given up for who may not have it");
    session_.release(nothing());
  }
  void carry_out(flow::task::show_presence& what) {
    session_.show(what.able, then([this, able = what.able] { flow_.on_shown(able); }));
  }
  void carry_out(flow::task::take_lead& what) {
    session_.take_lead(std::move(what.but),
                       then([this](std::optional<int> shard) { flow_.on_taken(shard); }));
  }
  void carry_out(flow::task::load&) {
    session_.load(then([this](flow::saved_position from) {
      from_ = from;
      if (!with_.position_dropped && kept_) from.at = *kept_;
      flow_.on_loaded({.from = std::move(from),
                       .shards = static_cast<int>(table_.shards()),
                       .rings = false,
                       .server_time = world_.wall()},
                      world_.now());
    }));
  }
  void carry_out(flow::task::look_for_request&) {
    session_.look(then([this](bool asked) {
      asked_for_ = asked;
      flow_.on_requester(asked ? std::optional<std::string>("another") : std::nullopt, world_.now());
    }));
  }
  void carry_out(flow::task::count_relays&) {
    session_.count(then([this](int relays) { flow_.on_counted(counts_others_ ? relays : 0, world_.now()); }));
  }
  // It may be lost, as anything that is notified.
  void carry_out(flow::task::notify_self&) {
    session_.ask(then([this] {
      flow_.on_notified_self(true, world_.now());
      if (!world_.chance(900)) return;
      world_.after(world_.micros(0, 5'000),
                   [this] { process_.run([this] { hear(flow::word::own_probe); }); });
    }));
  }
  void carry_out(flow::task::ask_queue_usage&) {
    session_.ask(then([this] { flow_.on_queue_usage(0.0, world_.now()); }));
  }
  void carry_out(flow::task::round_trip& what) {
    session_.execute(std::move(what.what), then([this](flow::store_answer answer) {
                       tell_.on_answered(*flow_.leads(), session_.answered_at());
                       flow_.on_answer(std::move(answer), session_.turned_read_only(), world_.now());
                     }));
  }

  void on_notice(const flow::any_notice& what) {
    if (std::holds_alternative<flow::notice::wake_driver>(what)) turn();
    if (std::holds_alternative<flow::notice::leads>(what)) {
      leads_ = true;
      tell_.on_led(*flow_.leads(), from_);
    }
    if (std::holds_alternative<flow::notice::gave_up>(what)) leads_ = false;
    if (std::holds_alternative<flow::notice::makes_way>(what) && !asked_for_)
      tell_.complain("a lead is given up for who may not have it");
  }

  void on_lost() {
    state_ = state::away;
    const bool led = leads_;
    if (led) kept_ = stream().at();
    flow_.on_lost(world_.now());
    if (led) tell_.on_lead_lost();
  }

  // Once for all that is waited for: an earlier time than is needed is no harm.
  void wake_at(clock::time_point when) {
    if (when == clock::time_point::max() || (timer_ > world_.now() && timer_ <= when)) return;
    timer_ = when;
    world_.at(when, [this, mine = ++generation_] {
      process_.run([this, mine] {
        if (mine != generation_) return;
        timer_ = {};
        turn();
      });
    });
  }

  virtual_world& world_;
  virtual_process& process_;
  simulated_postgres& table_;
  const rules& with_;
  const bool counts_others_;
  hooks tell_;
  simulated_session session_;
  flow::leader flow_;
  state state_ = state::away;
  bool leads_ = false;
  bool asked_for_ = false;  // as the latest look has found
  clock::time_point timer_{};
  std::uint64_t generation_ = 0;
  flow::saved_position from_;  // where the former leader has left off
  std::optional<flow::position> kept_;
};

}  // namespace outboxd::test
