// simulated_broker: what has reached the broker, and one lane's connection to it, with faults.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "relay/broker.hpp"
#include "simulated_world.hpp"

namespace outboxd::test {

struct simulated_exchange {
  std::function<void(std::int64_t seq)> on_delivered;
  std::map<std::int64_t, int> delivered;  // by seq: how often it reached a queue
  std::set<std::int64_t> acked;           // a lane has read an ack for it
  std::int64_t nacks_in_thousand = 0;
  std::int64_t returns_in_thousand = 0;

  void deliver(std::int64_t seq) {
    ++delivered[seq];
    on_delivered(seq);
  }
};

class simulated_broker final : public relay::broker {
 public:
  simulated_broker(simulated_world& world, simulated_process& process, simulated_exchange& exchange)
      : world_(world), process_(process), exchange_(exchange) {}

  void connect(relay::broker_listener& listener) {
    listener_ = &listener;
    world_.after(world_.delay(0, 300), [this, mine = session_] {
      if (mine != session_) return;
      up_ = true;
      room_ = static_cast<std::size_t>(world_.between(1, 12));
      tell([](relay::broker_listener& lane) { lane.on_broker_up(); });
    });
  }

  // The connection breaks. What is under way may be lost or may arrive all the same; no confirm of it will.
  void lose() {
    if (!up_) return;
    end();
    process_.run([this] {
      ++heard_;
      listener_->on_broker_down();
    });
    connect(*listener_);
  }
  void end() {
    up_ = blocked_ = full_ = false;
    cut_after_ = world_.chance(500) ? world_.now() : clock::time_point::max();
    ++session_;
    unconfirmed_ = 0;
    confirms_.clear();
  }

  void freeze(milliseconds pause) { thaws_ = world_.now() + pause; }

  void block(milliseconds pause) {
    if (!up_ || std::exchange(blocked_, true)) return;
    tell([](relay::broker_listener& lane) { lane.on_blocked(true); });
    world_.after(pause, [this, mine = session_] {
      if (mine != session_) return;
      blocked_ = false;
      tell([](relay::broker_listener& lane) { lane.on_blocked(false); });
    });
  }

  result<accepted> publish(token name, const message& what) override {
    if (what.type == "unencodable") return permanent("the routing key is too long");
    if (heard_ != session_ || !up_) return accepted::yes;  // into a socket that is closed already
    if (unconfirmed_ >= room_) {
      full_ = true;
      return accepted::full;
    }
    ++unconfirmed_;
    arrives_ = std::max(arrives_, world_.now() + world_.delay(0, 4));
    world_.at(arrives_, [this, name, seq = what.seq, mine = session_] { arrive(name, seq, mine); });
    return accepted::yes;
  }

  void drop(std::string_view) override {
    world_.after(world_.delay(0, 5), [this, mine = session_] {
      if (mine == session_) lose();
    });
  }

 private:
  void arrive(token name, std::int64_t seq, std::uint64_t of) {
    if (of != session_ && cut_after_ <= world_.now()) return;
    if (world_.chance(exchange_.returns_in_thousand))
      return confirm({name, verdict::returned, "312 NO_ROUTE"}, seq, of);
    if (world_.chance(exchange_.nacks_in_thousand)) {
      if (world_.chance(300)) exchange_.deliver(seq);  // another queue of the same route took it
      return confirm({name, verdict::nacked, {}}, seq, of);
    }
    exchange_.deliver(seq);
    confirm({name, verdict::acked, {}}, seq, of);
  }

  // Confirms come in any order, several at once.
  void confirm(outcome one, std::int64_t seq, std::uint64_t of) {
    const auto when = std::max(world_.now(), thaws_) + world_.delay(0, 10);
    world_.at(when, [this, one, seq, of] {
      if (of != session_) return;
      confirms_.emplace_back(one, seq);
      if (confirms_.size() == 1) world_.after(world_.delay(0, 3), [this, of] { send_confirms(of); });
    });
  }

  void send_confirms(std::uint64_t of) {
    if (of != session_) return;
    tell([this, sent = std::exchange(confirms_, {})](relay::broker_listener& lane) {
      std::vector<outcome> outcomes;
      for (const auto& [one, seq] : sent) {
        outcomes.push_back(one);
        if (one.what == verdict::acked) exchange_.acked.insert(seq);
      }
      unconfirmed_ -= std::min(unconfirmed_, outcomes.size());
      lane.on_outcomes(outcomes);
      if (std::exchange(full_, false)) lane.on_writable();
    });
  }

  void tell(std::function<void(relay::broker_listener&)> what) {
    process_.run([this, mine = session_, what = std::move(what)] {
      if (mine == heard_) what(*listener_);
    });
  }

  simulated_world& world_;
  simulated_process& process_;
  simulated_exchange& exchange_;
  relay::broker_listener* listener_ = nullptr;
  bool up_ = false;
  bool blocked_ = false;
  bool full_ = false;
  std::size_t room_ = 1;
  std::size_t unconfirmed_ = 0;
  std::vector<std::pair<outcome, std::int64_t>> confirms_;
  clock::time_point arrives_;    // the latest message: they stay in order
  clock::time_point thaws_;      // no confirm before
  clock::time_point cut_after_;  // what the last session sent arrives until then
  std::uint64_t session_ = 0;
  std::uint64_t heard_ = 0;  // the session that the lane believes in
};

}  // namespace outboxd::test
