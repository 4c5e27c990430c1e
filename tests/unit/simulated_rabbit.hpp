// simulated_rabbit: a RabbitMQ that takes, refuses and delays messages, and one lane's connection to it, with
// faults.
#pragma once

#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flow/dispatch/lane.hpp"
#include "simulated_postgres.hpp"

namespace outboxd::test {

struct simulated_exchange {
  std::function<void(std::size_t row)> on_delivered;  // it reached a queue
  std::function<void(std::size_t row)> on_refused;    // what it says of that may be lost on its way
  std::function<ailment(std::size_t row)> ailment_of;
  std::set<std::size_t> letters;    // rows whose dead letter has arrived
  std::set<flow::aggregate> hangs;  // whose queue confirms nothing
  std::set<int> unbound;            // routing keys that no queue takes
  bool other_is_gone = false;       // the exchange of other_exchange
  std::function<int(std::size_t row)> key_of;
  std::function<flow::aggregate(std::size_t row)> aggregate_of;
  std::int64_t nacks_in_thousand = 0;
  std::int64_t returns_in_thousand = 0;
  std::int64_t letters_refused_in_thousand = 0;
  bool nacks_may_deliver = true;  // another queue of the same route may have taken it
};

class simulated_rabbit final : public flow::broker {
 public:
  simulated_rabbit(virtual_world& world, virtual_process& process, simulated_exchange& exchange)
      : world_(world), process_(process), exchange_(exchange) {}

  std::function<void(std::size_t row)> on_acked;                   // the relay has read the ack
  std::function<void(std::size_t row, int content)> on_published;  // it has sent it

  void connect(flow::broker_listener& listener) {
    listener_ = &listener;
    world_.after(world_.millis(0, 300), [this, mine = session_] {
      if (mine != session_) return;
      if (world_.now() < back_at_) return connect(*listener_);
      up_ = true;
      room_ = static_cast<std::size_t>(world_.between(1, 12));
      tell([](flow::broker_listener& lane) { lane.on_broker_up(); });
    });
  }

  // The connection breaks. What is under way may be lost or may arrive all the same; no confirm of it will.
  void lose(const interruption& why = {}) {
    if (!up_) return;
    end();
    process_.run([this, why] {
      ++heard_;
      listener_->on_broker_down(why);
    });
    connect(*listener_);
  }
  void end() {
    up_ = blocked_ = full_ = reopening_ = refuses_ = false;
    open_.clear();
    latest_channel_ = channel_;
    client_channel_ = ++channel_;
    cut_after_ = world_.now() + (world_.chance(500)   ? microseconds(0)
                                 : world_.chance(500) ? world_.micros(0, 4000)
                                                      : world_.millis(0, 9000));
    ++session_;
    confirms_.clear();
  }

  // The channel's idea of its queues is wrong, and only a new one mends it.
  void refuse() { refuses_ = up_; }

  // It cannot be reached until then.
  void stay_away(clock::time_point until) {
    back_at_ = std::max(back_at_, until);
    lose();
  }

  void freeze(clock::duration pause) { thaws_ = world_.now() + pause; }
  // The process stops. What it has buffered leaves when it goes on.
  void hold_until(clock::time_point when) { arrives_ = std::max(arrives_, when); }

  void block(clock::duration pause) {
    if (!up_ || std::exchange(blocked_, true)) return;
    tell([](flow::broker_listener& lane) { lane.on_blocked(true); });
    world_.after(pause, [this, mine = session_] {
      if (mine != session_) return;
      blocked_ = false;
      tell([](flow::broker_listener& lane) { lane.on_blocked(false); });
    });
  }

  result<accepted> publish(token name, const message& what) override {
    const std::size_t row = simulated_postgres::row_of(what.aggregate_id);
    const bool letter = !what.dead_reason.empty();
    const bool bare = letter && what.routing_key == "dead" && what.headers == "{}";
    if (what.type == "unencodable" && !bare) return permanent("the routing key is too long");
    if (heard_ == session_ && up_ && (reopening_ || open_.size() >= room_)) {
      full_ = true;
      return accepted::full;
    }
    if (on_published && !letter) on_published(row, std::atoi(std::string(what.body).c_str()));
    if (heard_ != session_ || !up_) return accepted::yes;  // into a socket that is closed already
    open_.push_back(name);
    arrives_ = std::max(arrives_, world_.now() + world_.micros(0, 4000));
    world_.at(arrives_,
              [this, sent = arrival{name, row, letter, session_, client_channel_}] { arrive(sent); });
    return accepted::yes;
  }

  // Where nothing is to be sent twice there is none: what is in flight is lost with the connection.
  int urls() const override { return exchange_.nacks_may_deliver ? 2 : 1; }
  void drop(std::string_view) override {
    world_.after(world_.micros(0, 5000), [this, mine = session_] {
      if (mine == session_) lose();
    });
  }

 private:
  struct arrival {
    token name;
    std::size_t row;
    bool letter;
    std::uint64_t session;
    std::uint64_t channel;
  };

  void arrive(const arrival& sent) {
    const bool is_here = sent.session == session_;
    if (!is_here && cut_after_ <= world_.now()) return;
    if (sent.channel != (is_here ? channel_ : latest_channel_)) return;  // that one was closed: discarded
    if (sent.letter) {
      if (world_.chance(exchange_.letters_refused_in_thousand))
        return confirm({sent.name, world_.one_of({verdict::returned, verdict::nacked}), "312 NO_ROUTE"},
                       sent);
      exchange_.letters.insert(sent.row);
      return confirm({sent.name, verdict::acked, {}}, sent);
    }
    const ailment ill = exchange_.ailment_of(sent.row);
    const int key = exchange_.key_of(sent.row);
    if (ill == ailment::missing || (key == other_exchange && exchange_.other_is_gone)) {
      exchange_.on_refused(sent.row);
      return sent.session == session_ ? close_channel() : void();
    }
    if (ill == ailment::crashing || ill == ailment::cutting) {
      if (sent.session != session_) return;
      return lose(ill == ailment::crashing ? interruption{ending::connection_closed, "541 INTERNAL_ERROR"}
                                           : interruption{ending::silent});
    }
    if (ill == ailment::unroutable || exchange_.unbound.contains(key) ||
        world_.chance(exchange_.returns_in_thousand))
      return refuse(sent, {sent.name, verdict::returned, "312 NO_ROUTE"});
    if (refuses_ && sent.session == session_) return refuse(sent, {sent.name, verdict::nacked, {}});
    if (world_.chance(exchange_.nacks_in_thousand)) {
      if (exchange_.nacks_may_deliver && world_.chance(300)) exchange_.on_delivered(sent.row);
      return refuse(sent, {sent.name, verdict::nacked, {}});
    }
    exchange_.on_delivered(sent.row);
    if (!exchange_.hangs.contains(exchange_.aggregate_of(sent.row)))
      confirm({sent.name, verdict::acked, {}}, sent);
    else if (world_.chance(500))
      confirm_later(sent);
  }

  void refuse(const arrival& sent, outcome how) {
    exchange_.on_refused(sent.row);
    confirm(std::move(how), sent);
  }

  void confirm_later(const arrival& sent) {
    world_.after(milliseconds(100), [this, sent] {
      if (sent.session != session_ || sent.channel != channel_) return;
      if (exchange_.hangs.contains(exchange_.aggregate_of(sent.row))) return confirm_later(sent);
      confirm({sent.name, verdict::acked, {}}, sent);
    });
  }

  // No exchange of that name. Confirms that were not sent by now never will be.
  void close_channel() {
    ++channel_;
    confirms_.clear();
    world_.after(world_.micros(0, 3000), [this, of = session_, opened = channel_] {
      if (of != session_) return;
      reopening_ = true;
      tell([unknown = std::exchange(open_, {})](flow::broker_listener& lane) {
        lane.on_channel_closed(unknown, {.reason = "404 NOT_FOUND", .part = refused_part::exchange});
      });
      world_.after(world_.micros(0, 8000), [this, of, opened] {
        if (of != session_) return;
        reopening_ = false;
        client_channel_ = opened;
        if (std::exchange(full_, false)) tell([](flow::broker_listener& lane) { lane.on_writable(); });
      });
    });
  }

  // Confirms come in any order, several at once.
  void confirm(outcome one, const arrival& of) {
    const auto when = std::max(world_.now(), thaws_) + world_.micros(0, world_.chance(900) ? 3000 : 30'000);
    world_.at(when, [this, one, of] {
      if (of.session != session_ || of.channel != channel_) return;
      confirms_.emplace_back(one, of);
      if (confirms_.size() == 1) world_.after(world_.micros(0, 1000), [this, of] { send_confirms(of); });
    });
  }

  void send_confirms(const arrival& of) {
    if (of.session != session_ || of.channel != channel_) return;
    for (const auto& [one, which] : confirms_) std::erase(open_, one.id);
    tell([this, has_room = std::exchange(full_, false),
          sent = std::exchange(confirms_, {})](flow::broker_listener& lane) {
      std::vector<outcome> outcomes;
      for (const auto& [one, which] : sent) {
        outcomes.push_back(one);
        if (one.what == verdict::acked && !which.letter && on_acked) on_acked(which.row);
      }
      lane.on_outcomes(outcomes);
      if (has_room) lane.on_writable();
    });
  }

  void tell(std::function<void(flow::broker_listener&)> what) {
    process_.run([this, mine = session_, what = std::move(what)] {
      if (mine == heard_) what(*listener_);
    });
  }

  virtual_world& world_;
  virtual_process& process_;
  simulated_exchange& exchange_;
  flow::broker_listener* listener_ = nullptr;
  bool up_ = false;
  bool blocked_ = false;
  bool full_ = false;
  std::size_t room_ = 1;
  std::vector<token> open_;  // unconfirmed, as the client sees it
  bool reopening_ = false;
  bool refuses_ = false;
  std::uint64_t channel_ = 0;         // counts the channels that the broker has opened
  std::uint64_t latest_channel_ = 0;  // of the session before
  std::uint64_t client_channel_ = 0;
  std::vector<std::pair<outcome, arrival>> confirms_;
  clock::time_point arrives_;    // the latest message: they stay in order
  clock::time_point thaws_;      // no confirm before
  clock::time_point back_at_{};  // no connection before
  clock::time_point cut_after_;  // what the last session sent arrives until then
  std::uint64_t session_ = 0;
  std::uint64_t heard_ = 0;  // the session that the lane believes in
};

}  // namespace outboxd::test
