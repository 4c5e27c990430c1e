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
    up_ = blocked_ = full_ = reopening_ = false;
    open_.clear();
    client_channel_ = ++channel_;
    cut_after_ = world_.chance(500) ? world_.now() : clock::time_point::max();
    ++session_;
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
    if (reopening_ || open_.size() >= room_) {
      full_ = true;
      return accepted::full;
    }
    open_.push_back(name);
    arrives_ = std::max(arrives_, world_.now() + world_.delay(0, 4));
    world_.at(arrives_, [this, sent = arrival{name, what.seq, std::string(what.type), session_,
                                              client_channel_}] { arrive(sent); });
    return accepted::yes;
  }

  void drop(std::string_view) override {
    world_.after(world_.delay(0, 5), [this, mine = session_] {
      if (mine == session_) lose();
    });
  }

 private:
  struct arrival {
    token name;
    std::int64_t seq;
    std::string type;
    std::uint64_t session;
    std::uint64_t channel;
  };

  void arrive(const arrival& sent) {
    if (sent.session != session_ && cut_after_ <= world_.now()) return;
    if (sent.session == session_ && sent.channel != channel_) return;  // the channel is closed: discarded
    if (sent.type == "t.missing") return sent.session == session_ ? close_channel() : void();
    if (sent.type == "t.unroutable" || world_.chance(exchange_.returns_in_thousand))
      return confirm({sent.name, verdict::returned, "312 NO_ROUTE"}, sent);
    if (world_.chance(exchange_.nacks_in_thousand)) {
      if (world_.chance(300)) exchange_.deliver(sent.seq);  // another queue of the same route took it
      return confirm({sent.name, verdict::nacked, {}}, sent);
    }
    exchange_.deliver(sent.seq);
    confirm({sent.name, verdict::acked, {}}, sent);
  }

  // No exchange of that name. Confirms that were not sent by now never will be.
  void close_channel() {
    ++channel_;
    confirms_.clear();
    world_.after(world_.delay(0, 3), [this, of = session_, opened = channel_] {
      tell_session(of, [this, of, opened](relay::broker_listener& lane) {
        reopening_ = true;
        const auto unknown = std::exchange(open_, {});
        lane.on_channel_closed(unknown, "404 NOT_FOUND");
        world_.after(world_.delay(0, 8), [this, of, opened] {
          tell_session(of, [this, opened](relay::broker_listener& again) {
            reopening_ = false;
            client_channel_ = opened;
            if (std::exchange(full_, false)) again.on_writable();
          });
        });
      });
    });
  }

  // Confirms come in any order, several at once.
  void confirm(outcome one, const arrival& of) {
    const auto when = std::max(world_.now(), thaws_) + world_.delay(0, 10);
    world_.at(when, [this, one, of] {
      if (of.session != session_ || of.channel != channel_) return;
      confirms_.emplace_back(one, of.seq);
      if (confirms_.size() == 1) world_.after(world_.delay(0, 3), [this, of] { send_confirms(of); });
    });
  }

  void send_confirms(const arrival& of) {
    if (of.session != session_ || of.channel != channel_) return;
    tell([this, sent = std::exchange(confirms_, {})](relay::broker_listener& lane) {
      std::vector<outcome> outcomes;
      for (const auto& [one, seq] : sent) {
        outcomes.push_back(one);
        std::erase(open_, one.id);
        if (one.what == verdict::acked) exchange_.acked.insert(seq);
      }
      lane.on_outcomes(outcomes);
      if (std::exchange(full_, false)) lane.on_writable();
    });
  }

  void tell_session(std::uint64_t of, std::function<void(relay::broker_listener&)> what) {
    if (of == session_) tell(std::move(what));
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
  std::vector<token> open_;  // unconfirmed, as the client sees it
  bool reopening_ = false;
  std::uint64_t channel_ = 0;  // counts the channels that the broker has opened
  std::uint64_t client_channel_ = 0;
  std::vector<std::pair<outcome, std::int64_t>> confirms_;
  clock::time_point arrives_;    // the latest message: they stay in order
  clock::time_point thaws_;      // no confirm before
  clock::time_point cut_after_;  // what the last session sent arrives until then
  std::uint64_t session_ = 0;
  std::uint64_t heard_ = 0;  // the session that the lane believes in
};

}  // namespace outboxd::test
