// leadership: decides when a relay may take the lead of a shard, and when it makes way for another relay.
#pragma once

#include <cstdint>
#include <optional>

#include "flow/clock.hpp"

namespace outboxd::flow {

// Pure. This class decides, and its driver acts and reports the result.
class leadership {
 public:
  enum class state : std::uint8_t {
    away,         // no session
    standing_by,  // another relay leads, or no relay leads yet
    taking,       // has the lock; checks for requests, and loads
    leading,      // reads, sends and marks
    making_way,   // drains for another relay; resumes leading if draining takes too long
    leaving,      // drains, because the server accepts no writes
    stopping,     // drains, and will not lead again
    stopped,      // has no lead, and will not lead again
  };

  enum class action : std::uint8_t {
    none,
    drain,  // stop reading and sending; step() may return this repeatedly
    go_on,
    // Give up the lead now, without draining. Locked events are sent again by the next leader; all other
    // events are not affected.
    give_up,
  };

  state now_in() const { return state_; }
  bool has_session() const { return state_ != state::away && state_ != state::stopped; }
  bool has_lead() const { return has_session() && state_ != state::standing_by; }
  bool leaving() const { return state_ == state::leaving; }
  bool stopping() const { return state_ == state::stopping || state_ == state::stopped; }

  // Whether to try to take the lead.
  bool may_try(clock::time_point now) const { return state_ == state::standing_by && now >= next_try_; }

  // on_session: a session was opened. on_lost: the session was lost, and the lead with it.
  void on_session();
  void on_lost() { state_ = stopping() ? state::stopped : state::away; }
  // on_taken: the lock was acquired. on_loaded: the shard was loaded. on_given_up: the lead was given up in
  // an orderly way; other relays have the next second to take it.
  void on_taken();
  void on_loaded(clock::time_point now);
  void on_given_up(clock::time_point now);

  void stop() { state_ = has_lead() ? state::stopping : state::stopped; }
  void leave();
  // A notification says that a session requests the lead. Any user can send such a notification, so it only
  // causes a check, at most one per second.
  void hear_request(clock::time_point now);
  // Returns whether to check for a request, for which the requester holds a lock; on_looked follows. The
  // leader also checks from time to time without a notification, because notifications can be lost.
  bool wants_look(clock::time_point now) const;
  // asked: a session with the right to request leads has done so. Returns true if the lead is given up: a
  // leader makes way, and a relay that has just acquired the lock releases it. Leaders finish draining at
  // different times, and the requester may need all leads at once. So no leader takes or keeps a requested
  // lead for three seconds. After that, no leader gives up a lead for five seconds, even if the request
  // persists.
  bool on_looked(bool asked, clock::time_point now);

  // Call this on each turn. After a second without a broker, the leader makes way for a relay that has one.
  void on_broker(bool is_there, clock::time_point now);
  // Whether to count the other relays that could lead; on_counted follows.
  bool wants_count(clock::time_point now) const;
  void on_counted(int others, clock::time_point now);

  // Call this on each turn. `too_many`: this relay leads more shards than its share, and should give up this
  // one. `meets_lock`: locks of other sessions prevent the leader from draining.
  action step(bool too_many, bool meets_lock, clock::time_point now);
  // The time at which the results of step and wants_count may change without any event. The argument
  // `too_many` is not considered, because it is passed on each turn.
  clock::time_point next(bool meets_lock) const;

  // Whether this leader may make way for other relays. False for a while after draining failed.
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
  clock::time_point request_ends_{};  // the current request is obeyed until then
  clock::time_point next_request_{};  // the next request is obeyed from then on
  int failed_drains_ = 0;             // since the lead was acquired
  std::optional<clock::time_point> locked_since_;
  std::optional<clock::time_point> broker_gone_since_;
  clock::time_point next_count_{};
  int others_ = 0;  // other relays that could lead, as counted while this one had no broker
};

}  // namespace outboxd::flow
