// leadership: decides when a relay may take the lead of a shard, and when it makes way for another relay.
#pragma once

#include <cstdint>
#include <optional>

#include "flow/clock.hpp"

namespace outboxd::flow {

// Pure. It decides. Its driver acts and reports the result.
class leadership {
 public:
  enum class state : std::uint8_t {
    away,         // no session
    standing_by,  // another relay leads, or none yet
    taking,       // has the lock; looks for requests, and loads
    leading,      // reads, sends and marks
    making_way,   // drains for another relay; leads on if draining takes too long
    leaving,      // drains, because the server wants no writes
    stopping,     // drains, for good
    stopped,      // has no lead, for good
  };

  enum class action : std::uint8_t {
    none,
    drain,  // read and send nothing more; may be returned repeatedly
    lead_on,
    // Give up now, without draining. Locked events are sent again, and everything else goes on.
    give_up,
  };

  state now_in() const { return state_; }
  bool has_session() const { return state_ != state::away && state_ != state::stopped; }
  bool has_lead() const { return has_session() && state_ != state::standing_by; }
  bool leaving() const { return state_ == state::leaving; }
  bool stopping() const { return state_ == state::stopping || state_ == state::stopped; }

  // Whether to try to take the lead.
  bool may_try(clock::time_point now) const { return state_ == state::standing_by && now >= next_try_; }

  // A session is open; or it is lost, and its lead with it.
  void on_session();
  void on_lost() { state_ = stopping() ? state::stopped : state::away; }
  // The lock is taken; the shard is loaded; the lead is given up in an orderly way, and other relays have the
  // next second to take it.
  void on_taken();
  void on_loaded(clock::time_point now);
  void on_given_up(clock::time_point now);

  void stop() { state_ = has_lead() ? state::stopping : state::stopped; }
  void leave();
  // A notification says that the lead is requested. Anybody can send it, so it is a hint, worth at most one
  // look per second.
  void hear_request(clock::time_point now);
  // Whether to look for a request, which shows as a lock of the requester; on_looked follows. Without a hint
  // it looks now and then, because notifications can be lost.
  bool wants_look(clock::time_point now) const;
  // asked: by somebody who may request leads. True: the lead is given up. A leader makes way, and a relay
  // that has just taken the lock gives it back. Leaders drain at different moments, and the requester may
  // want all leads at once. So nobody takes or keeps a requested lead for three seconds. After that nobody
  // gives a lead up for five seconds, even if the request goes on.
  bool on_looked(bool asked, clock::time_point now);

  // Call it at each turn. After a second without a broker, the leader makes way for a relay that has one.
  void on_broker(bool is_there, clock::time_point now);
  // Whether to count the other relays that could lead; on_counted follows.
  bool wants_count(clock::time_point now) const;
  void on_counted(int others, clock::time_point now);

  // Call it at each turn. `too_many`: this relay leads more shards than its share, and this lead is the one
  // to give up. `meets_lock`: other sessions' locks keep the leader from draining.
  action step(bool too_many, bool meets_lock, clock::time_point now);
  // The time at which step or wants_count may change their answer without any event. `too_many` is passed
  // anew at each turn.
  clock::time_point next(bool meets_lock) const;

  // For other relays. False for a while after draining failed.
  bool may_make_way(clock::time_point now) const { return now >= next_drain_; }

 private:
  bool lacks_broker(clock::time_point now) const;
  void make_way(clock::time_point now);
  void end_request(clock::time_point when);
  clock::time_point drains_until(bool meets_lock) const;

  state state_ = state::away;
  clock::time_point next_try_{};
  clock::time_point drains_since_{};
  clock::time_point next_drain_{};
  clock::time_point looked_at_{};
  clock::time_point next_look_{};
  clock::time_point request_ends_{};  // the latest request is followed until then
  clock::time_point next_request_{};  // the next request is followed from then on
  int failed_drains_ = 0;             // since the lead was taken
  std::optional<clock::time_point> locked_since_;
  std::optional<clock::time_point> broker_gone_since_;
  clock::time_point next_count_{};
  int others_ = 0;  // other relays that could lead, as counted without a broker
};

}  // namespace outboxd::flow
