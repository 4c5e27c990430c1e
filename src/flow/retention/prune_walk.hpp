// prune_walk: decides which rows retention scans for old events: the table in seq order, one range at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "flow/stream/position.hpp"

namespace outboxd::flow {

// No index covers published events, because every mark would have to update it. So a walk scans old events
// and ends where all events are young; the next walk starts there. Occasional walks from the start of the
// table find old events that earlier walks left (waiting, dead, or published late).
class prune_walk {
 public:
  using clock = std::chrono::steady_clock;

  // Long transactions and cached sequence values place young events among old ones, so a walk ends only after
  // this many young events in a row.
  static constexpr std::int64_t enough_young = 1'000;
  static constexpr clock::duration soonest_restart = std::chrono::minutes(1);
  static constexpr clock::duration latest_restart = std::chrono::hours(1);
  // Walks from the start may take at most 1/restart_share of the time.
  static constexpr int restart_share = 20;

  // The answer of one statement.
  struct stretch {
    std::int64_t rows = 0;                     // rows scanned
    bool full = false;                         // there may be more rows
    std::int64_t last = position::before_all;  // the last seq scanned
    std::optional<std::int64_t> last_old{};    // seq of the last event that is old enough to delete
    std::int64_t young = 0;                    // rows after last_old
  };

  // `keep`: the retention period of published events.
  explicit prune_walk(std::chrono::milliseconds keep) : keep_(keep) {}

  void begin(clock::time_point now);
  // Returns true if there are more rows to scan; from() is then the seq to continue after.
  bool on_walked(const stretch& found, clock::time_point now);
  std::int64_t from() const { return from_; }

 private:
  clock::duration until_restart() const;

  std::chrono::milliseconds keep_;
  std::int64_t from_ = position::before_all;
  std::int64_t old_up_to_ = position::before_all;   // the next walk starts after this seq
  std::int64_t young_ = 0;                          // consecutive young events
  std::optional<clock::time_point> from_start_at_;  // when the latest walk from the start began
  bool from_start_ = false;                         // whether the current walk began at the start of the
                                                    // table
  clock::duration took_{};                          // duration of the latest walk from the start
};

}  // namespace outboxd::flow
