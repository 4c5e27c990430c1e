// write_queue: groups writes to the outbox, collects them for a short time, and splits a group if PostgreSQL
// refuses a row.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "flow/clock.hpp"
#include "flow/limits.hpp"
#include "flow/stream/store.hpp"
#include "flow/stream/unsettled.hpp"

namespace outboxd::flow {

// A group is one statement. A refused group is halved until the refused row is alone. That row is retried
// with growing pauses, as are locked rows. No other row waits for them.
class write_queue {
 public:
  struct group {
    std::vector<slot> slots;
    mark_mode mode = mark_mode::by_place;
    clock::time_point not_before{};
    std::chrono::milliseconds pause{0};             // the last pause
    std::optional<clock::time_point> refused_at{};  // when it was first refused as a single row

    // True if the entry is the rest of a refused group.
    bool is_single_again() const {
      return slots.size() == 1 && (mode == mark_mode::by_key || pause.count() > 0);
    }
  };

  explicit write_queue(const write_limits& limits) : limits_(limits) {}

  void add(slot which, clock::time_point now);

  // The time at which there will be something to write; nullopt while a group is under way.
  std::optional<clock::time_point> due() const;

  // Returns the group to write now, or null. `all`: without waiting for more events. The group is under way
  // until end(). `fitting`: at most this many fresh events; 0: only retries.
  const group* begin(clock::time_point now, bool all = false, std::size_t most = SIZE_MAX);
  const group* begin_fitting(clock::time_point now, std::size_t fitting);
  const std::vector<slot>& fresh() const { return fresh_; }

  // Processes the answer for the group. `left`: if done, the locked rows. Returns the events that were
  // written.
  std::vector<slot> end(write_result result, std::span<const slot> left, clock::time_point now);

  // The row that cannot be written, after end() with `refused` for a group of one row.
  std::optional<slot> stuck() const { return stuck_; }
  // The length of its last pause.
  std::chrono::milliseconds stuck_for() const { return again_.back().pause; }
  // Gives up retrying the stuck row.
  void drop_stuck() { again_.pop_back(); }
  bool under_way() const { return under_way_.has_value(); }

  // The number of events to retry, because they are locked or refused.
  std::size_t put_off() const;
  // True if another session's lock prevents some writes.
  bool meets_lock() const;
  // True if nothing is left to write, except rows that PostgreSQL refuses.
  bool idle() const;
  // The refused rows, and since when the first of them has been refused.
  std::vector<slot> refused() const;
  std::optional<clock::time_point> refused_since() const;
  void clear();

 private:
  void on_written(clock::time_point now);
  void defer(group what, std::chrono::milliseconds at_first, std::chrono::milliseconds at_most,
             clock::time_point now);

  write_limits limits_;
  std::vector<slot> fresh_;
  clock::time_point oldest_;  // when the oldest fresh event was added
  std::deque<group> again_;
  std::optional<group> under_way_;
  std::optional<slot> stuck_;
  std::optional<clock::time_point> written_at_;  // time of the last success
};

}  // namespace outboxd::flow
