// write_queue: writes to the outbox, in groups, which are gathered for a short time and split when PostgreSQL
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

// A group is one statement. A refused group is halved until the refused row is alone. That row is tried again
// with growing pauses, as are locked rows. No other row waits for them.
class write_queue {
 public:
  struct group {
    std::vector<slot> slots;
    mark_mode mode = mark_mode::by_place;
    clock::time_point not_before{};
    std::chrono::milliseconds pause{0};             // the latest one
    std::optional<clock::time_point> refused_at{};  // when it was first refused, alone

    // Of a group that was refused it is what is left.
    bool is_single_again() const {
      return slots.size() == 1 && (mode == mark_mode::by_key || pause.count() > 0);
    }
  };

  explicit write_queue(const write_limits& limits) : limits_(limits) {}

  void add(slot which, clock::time_point now);

  // When there will be something to write; nothing while a group is on its way.
  std::optional<clock::time_point> due() const;

  // The group to write now, or nothing. `all`: without lingering. It is on its way until end(). `fitting`: at
  // most so many of the fresh ones; 0: only what is tried again.
  const group* begin(clock::time_point now, bool all = false, std::size_t most = SIZE_MAX);
  const group* begin_fitting(clock::time_point now, std::size_t fitting);
  const std::vector<slot>& fresh() const { return fresh_; }

  // Takes the answer to the group. `left`: with done, the locked rows. Returns the written ones.
  std::vector<slot> end(write_result result, std::span<const slot> left, clock::time_point now);

  // The row that cannot be written, after an end() with `refused` that concerned one alone.
  std::optional<slot> stuck() const { return stuck_; }
  // How long its latest pause is.
  std::chrono::milliseconds stuck_for() const { return again_.back().pause; }
  // It is not to be tried again.
  void drop_stuck() { again_.pop_back(); }
  bool under_way() const { return under_way_.has_value(); }

  // How many are to be tried again, because they are locked or refused.
  std::size_t put_off() const;
  // Somebody's lock keeps it from writing some of it.
  bool meets_lock() const;
  // Only rows that PostgreSQL refuses to write are left.
  bool idle() const;
  // Those rows, and since when the first of them is refused.
  std::vector<slot> refused() const;
  std::optional<clock::time_point> refused_since() const;
  void clear();

 private:
  void on_written(clock::time_point now);
  void defer(group what, std::chrono::milliseconds at_first, std::chrono::milliseconds at_most,
             clock::time_point now);

  write_limits limits_;
  std::vector<slot> fresh_;
  clock::time_point oldest_;  // of the fresh ones
  std::deque<group> again_;
  std::optional<group> under_way_;
  std::optional<slot> stuck_;
  std::optional<clock::time_point> written_at_;  // the latest success
};

}  // namespace outboxd::flow
