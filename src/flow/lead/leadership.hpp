// leadership: who leads: when a relay may take the lead of a shard, and when it makes way for another relay.
#pragma once

#include <cstdint>
#include <optional>

#include "flow/clock.hpp"

namespace outboxd::flow {

// Pure: it tells what to do, and whoever drives it does that and tells what came of it.
class leadership {
 public:
  enum class state : std::uint8_t {
    away,         // no session
    standing_by,  // another relay leads, or nobody does yet
    taking,       // has the lock; sees whether somebody asks for it, and loads
    leading,      // reads, sends and marks
    making_way,   // drains for another relay; if it does not come to rest, it leads on
    leaving,      // drains, because the server wants no writes
    stopping,     // drains, for good
    stopped,      // has no lead, for good
  };

  enum class action : std::uint8_t {
    none,
    drain,  // read and send nothing more; the same again is no news
    lead_on,
    // Now, without rest: what somebody has locked is sent again, and all else goes on.
    give_up,
  };

  state now_in() const { return state_; }
  bool has_session() const { return state_ != state::away && state_ != state::stopped; }
  bool has_lead() const { return has_session() && state_ != state::standing_by; }
  bool leaving() const { return state_ == state::leaving; }
  bool stopping() const { return state_ == state::stopping || state_ == state::stopped; }

  // Whether to try to take it.
  bool may_try(clock::time_point now) const { return state_ == state::standing_by && now >= next_try_; }

  // A session is open; or gone, and a lead with it.
  void on_session();
  void on_lost() { state_ = stopping() ? state::stopped : state::away; }
  // The lock is taken; the shard is loaded; the lead is given up in order, so that others have the next
  // second for it.
  void on_taken();
  void on_loaded(clock::time_point now);
  void on_given_up(clock::time_point now);

  void stop() { state_ = has_lead() ? state::stopping : state::stopped; }
  void leave();
  // Somebody says that the lead is asked for: a hint, for anybody can say so. It is worth a look, and no more
  // than one in a second.
  void hear_request(clock::time_point now);
  // Whether to look who asks for the lead by the locks that he has; on_looked follows. Unasked it looks now
  // and then, for words can be lost.
  bool wants_look(clock::time_point now) const;
  // asked: by somebody who may. True: the lead is given up. Who leads makes way; who has just taken the lock
  // gives it back. Leaders come to rest at different moments, and who asks may want all leads at once: so
  // nobody keeps a lead that is asked for until three seconds have passed. Then nobody gives one up for five,
  // whoever goes on asking.
  bool on_looked(bool asked, clock::time_point now);

  // At each turn. Without a broker for a second it makes way for a relay that has one.
  void on_broker(bool is_there, clock::time_point now);
  // Whether to count the other relays that could lead; on_counted follows.
  bool wants_count(clock::time_point now) const;
  void on_counted(int others, clock::time_point now);

  // At each turn. `too_many`: this relay leads more shards than its share, and this one is to go.
  // `meets_lock`: somebody's locks keep it from coming to rest.
  action step(bool too_many, bool meets_lock, clock::time_point now);
  // When step or wants_count may say something else, though nothing has happened. Whether it has too many
  // shards is asked at each turn.
  clock::time_point next(bool meets_lock) const;

  // For others; not just after it did not come to rest.
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
  clock::time_point request_ends_{};  // the latest one is followed until then
  clock::time_point next_request_{};  // and the next one from then on
  int failed_drains_ = 0;             // since it was taken
  std::optional<clock::time_point> locked_since_;
  std::optional<clock::time_point> broker_gone_since_;
  clock::time_point next_count_{};
  int others_ = 0;  // that could lead, when they were counted without a broker
};

}  // namespace outboxd::flow
