// doorbell: whether the leader of a shard polls, or sleeps until a writer rings. The writers' part is
// sql/objects/doorbell.sql.
#pragma once

#include <chrono>
#include <cstdint>

#include "flow/clock.hpp"
#include "flow/limits.hpp"

namespace outboxd::flow {

// Pure. Its owner polls and locks for it.
class doorbell {
 public:
  enum class state : std::uint8_t {
    awake,       // polls; writers are silent
    requesting,  // polls, and waits for SLEEP: writers ring already
    granted,     // has SLEEP, and is to read once more: what silent writers have committed
    last_read,   // has SLEEP, and that read is on its way
    asleep,      // has SLEEP; reads when it is rung, and at each sweep
  };

  // Why it may not sleep.
  enum class obstacle : std::uint8_t {
    no_lock_session = 1,  // SLEEP cannot be asked for
    deaf = 2,             // notifications are not proved to arrive
    no_bell = 4,          // writers do not ring
    no_reads = 8,         // nothing is read, as without a broker: a ring would be of no use to anybody
    queue_fills = 16,     // a writer that rings could fail: there may be no room for its notification
  };

  // For the session that has SLEEP.
  enum class action : std::uint8_t {
    none,
    ask,     // for SLEEP, and wait a bounded time; on_granted or on_refused answers
    unlock,  // give SLEEP back; no answer
    probe,  // see whether commits wait for each other's notifications; on_contention answers, or nothing does
  };

  explicit doorbell(const doorbell_limits& limits) : limits_(limits) {}

  // From the next poll on.
  void poll_within(std::chrono::milliseconds longest) { limits_.longest_poll = longest; }

  // The lead has just been taken: awake.
  void start(clock::time_point now);
  void set(obstacle what, bool there, clock::time_point now);

  // True: to be read at once. Awake it polls anyway, and a ring, which may be forged, brings the next poll
  // forward, but never makes more of them than limits.shortest_rung allows.
  bool on_notified(int count, clock::time_point now);
  void on_contention(clock::time_point now) { contention_.until = now + limits_.contention_lasts; }
  // A read is on its way; it has found so many, and all that was visible or not. `of_all`: so many have come
  // in all shards, if those are more: all of their writers would ring.
  void on_read_sent();
  void on_read(std::size_t found, bool complete, clock::time_point now, std::size_t of_all = 0);
  void on_granted(clock::time_point now);
  void on_refused(clock::time_point now);

  // What to do now, once.
  action take_action(clock::time_point now);
  // When to poll unasked; call on_poll() then.
  clock::time_point next_poll() const { return next_poll_; }
  void on_poll() { next_poll_ = clock::time_point::max(); }

  state now_in() const { return state_; }

 private:
  // How often something happened in the current window and in the one before.
  struct meter {
    clock::time_point since{};
    int count = 0;
    int before = 0;
    void add(int more, clock::time_point now, std::chrono::milliseconds window);
    int lately(clock::time_point now, std::chrono::milliseconds window) const;
  };

  // Whether commits wait for each other's notifications.
  struct contention {
    clock::time_point until{};  // what was seen is taken for true
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
  meter found_;  // events of all shards; of what is to be published at once at least as many as commits
  clock::time_point awake_since_{};
  clock::time_point last_find_{};
  clock::time_point last_read_{};
  bool rung_ = false;  // awake, and since the latest read was sent
  clock::time_point next_poll_ = clock::time_point::max();
  contention contention_;
};

}  // namespace outboxd::flow
