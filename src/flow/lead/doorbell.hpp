// doorbell: decides whether the leader of a shard polls, or sleeps until a writer notifies it. The writers'
// part is sql/objects/doorbell.sql.
#pragma once

#include <chrono>
#include <cstdint>

#include "flow/clock.hpp"
#include "flow/limits.hpp"

namespace outboxd::flow {

// Pure. The leader polls and locks for it.
class doorbell {
 public:
  enum class state : std::uint8_t {
    awake,       // polls; writers are silent
    requesting,  // polls, and waits for SLEEP; writers notify already
    granted,     // has SLEEP; must read once more, because silent writers may have committed
    last_read,   // has SLEEP; that read has been sent
    asleep,      // has SLEEP; reads when notified, and at each sweep
  };

  // Why the leader must not sleep.
  enum class obstacle : std::uint8_t {
    no_lock_session = 1,  // no session that could ask for SLEEP
    deaf = 2,             // not proved that notifications arrive
    no_bell = 4,          // writers do not notify
    no_reads = 8,         // nothing is read, as without a broker, so notifications are useless
    queue_fills = 16,     // a notifying writer could fail, because the queue may have no room
  };

  // An action for the session that holds SLEEP.
  enum class action : std::uint8_t {
    none,
    ask,     // ask for SLEEP, for a bounded time; on_granted or on_refused follows
    unlock,  // release SLEEP; no answer
    probe,   // see whether commits wait for each other's notifications; on_contention follows if so
  };

  explicit doorbell(const doorbell_limits& limits) : limits_(limits) {}

  // Applies from the next poll on.
  void poll_within(std::chrono::milliseconds longest) { limits_.longest_poll = longest; }

  // The lead has just been taken. The state is awake.
  void start(clock::time_point now);
  void set(obstacle what, bool there, clock::time_point now);

  // True: read at once. An awake leader polls anyway. A notification, which may be forged, brings its next
  // poll forward, but polls are never closer than limits.shortest_rung.
  bool on_notified(int count, clock::time_point now);
  void on_contention(clock::time_point now) { contention_.until = now + limits_.contention_lasts; }
  // on_read_sent: a read has been sent. on_read: the read found `found` events, and was `complete` if it
  // found all visible ones. `of_all`: the events found in all shards, if those are more, because all of their
  // writers would notify.
  void on_read_sent();
  void on_read(std::size_t found, bool complete, clock::time_point now, std::size_t of_all = 0);
  void on_granted(clock::time_point now);
  void on_refused(clock::time_point now);

  // Returns each action once.
  action take_action(clock::time_point now);
  // The time of the next regular poll. Call on_poll() then.
  clock::time_point next_poll() const { return next_poll_; }
  void on_poll() { next_poll_ = clock::time_point::max(); }

  state now_in() const { return state_; }

 private:
  // Counts something in the current window and in the one before.
  struct meter {
    clock::time_point since{};
    int count = 0;
    int before = 0;
    void add(int more, clock::time_point now, std::chrono::milliseconds window);
    int lately(clock::time_point now, std::chrono::milliseconds window) const;
  };

  // Whether commits wait for each other's notifications.
  struct contention {
    clock::time_point until{};  // until then, the result of the last probe counts
    clock::time_point next_probe{};
  };

  bool wants_probe(clock::time_point now) const;
  void wake(clock::time_point now);
  void ask_if_calm(clock::time_point now);
  int enough_to_wake(clock::time_point now) const {
    return now < contention_.until ? limits_.busy_contended : limits_.busy;
  }

  doorbell_limits limits_;
  state state_ = state::awake;
  std::uint8_t obstacles_ = 0;
  action action_ = action::none;
  meter notified_;
  meter found_;  // events of all shards; due events are at least as many as commits
  clock::time_point awake_since_{};
  clock::time_point last_find_{};
  clock::time_point last_read_{};
  bool rung_ = false;  // while awake, since the latest read was sent
  clock::time_point next_poll_ = clock::time_point::max();
  contention contention_;
};

}  // namespace outboxd::flow
