// doorbell: decides whether the leader of a shard polls or is idle until a writer notifies it. The writers'
// part is in sql/objects/doorbell.sql.
#pragma once

#include <chrono>
#include <cstdint>

#include "flow/clock.hpp"
#include "flow/limits.hpp"

namespace outboxd::flow {

// Pure. The leader polls and takes locks on its behalf.
class doorbell {
 public:
  enum class state : std::uint8_t {
    awake,       // polls; writers do not notify
    requesting,  // polls while it waits for SLEEP; writers already notify
    granted,     // has SLEEP; must read once more, because writers that did not notify may have committed
    last_read,   // has SLEEP; the read that granted requires has been sent
    asleep,      // has SLEEP; reads when notified, and at each sweep
  };

  // The reasons why the leader must not become idle.
  enum class obstacle : std::uint8_t {
    no_lock_session = 1,  // there is no session that could request SLEEP
    deaf = 2,             // no proof that notifications arrive
    no_bell = 4,          // writers do not notify
    no_reads = 8,         // the leader does not read (no broker, for example), so notifications are useless
    queue_fills = 16,     // PostgreSQL's queue is filling up, so NOTIFY could fail in writers
  };

  // An action for the session that holds SLEEP.
  enum class action : std::uint8_t {
    none,
    ask,     // request SLEEP, for a limited time; on_granted or on_refused follows
    unlock,  // release SLEEP; there is no answer
    probe,   // check whether commits wait for each other's notifications; if so, on_contention follows
  };

  explicit doorbell(const doorbell_limits& limits) : limits_(limits) {}

  // Sets the longest pause between polls, from the next poll on.
  void poll_within(std::chrono::milliseconds longest) { limits_.longest_poll = longest; }

  // The lead has just been acquired. The state becomes awake.
  void start(clock::time_point now);
  void set(obstacle what, bool there, clock::time_point now);

  // Returns true if the leader should read at once. An awake leader polls anyway, so a notification, which
  // anybody may send, only brings the next poll forward, to limits.shortest_rung after the last read at the
  // earliest.
  bool on_notified(int count, clock::time_point now);
  void on_contention(clock::time_point now) { contention_.until = now + limits_.contention_lasts; }
  // on_read_sent: a read was sent. on_read: the read returned `found` events; `complete` means that these
  // were all visible events. `of_all`: the events found in all shards, used if larger, because the writers of
  // all shards would notify.
  void on_read_sent();
  void on_read(std::size_t found, bool complete, clock::time_point now, std::size_t of_all = 0);
  void on_granted(clock::time_point now);
  void on_refused(clock::time_point now);

  // Returns each action only once.
  action take_action(clock::time_point now);
  // The time of the next regular poll, at which to call on_poll().
  clock::time_point next_poll() const { return next_poll_; }
  void on_poll() { next_poll_ = clock::time_point::max(); }

  state now_in() const { return state_; }

 private:
  // Counts events in the current window and in the one before.
  struct meter {
    clock::time_point since{};
    int count = 0;
    int before = 0;
    void add(int more, clock::time_point now, std::chrono::milliseconds window);
    int lately(clock::time_point now, std::chrono::milliseconds window) const;
  };

  // The result of checking whether commits wait for each other's notifications.
  struct contention {
    clock::time_point until{};  // the result of the last probe is valid until then
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
  meter found_;  // events of all shards: an upper bound of the number of commits
  clock::time_point awake_since_{};
  clock::time_point last_find_{};
  clock::time_point last_read_{};
  bool rung_ = false;  // a notification arrived while awake, since the last read was sent
  clock::time_point next_poll_ = clock::time_point::max();
  contention contention_;
};

}  // namespace outboxd::flow
