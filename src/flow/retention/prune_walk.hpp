// prune_walk: where retention looks for old events: it walks the table in seq order, some rows at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "flow/stream/position.hpp"

namespace outboxd::flow {

// No index lists published events, because every mark would pay for it. So a walk goes through old events and
// ends where all are young; the next walk begins there. Events that a walk leaves behind (waiting, dead, or
// published late) are looked at again by occasional walks from the start of the table.
class prune_walk {
 public:
  using clock = std::chrono::steady_clock;

  // Long transactions and cached sequences put young events among old ones, so a walk ends after this many
  // young events in a row.
  static constexpr std::int64_t enough_young = 1'000;
  static constexpr clock::duration soonest_restart = std::chrono::minutes(1);
  static constexpr clock::duration latest_restart = std::chrono::hours(1);
  // Walks from the start may take only a small part of the time.
  static constexpr int restart_share = 20;

  // One statement's answer.
  struct stretch {
    std::int64_t rows = 0;                     // looked at
    bool full = false;                         // there may be more
    std::int64_t last = position::before_all;  // seq
    std::optional<std::int64_t> last_old{};    // seq of the last one that was created long enough ago
    std::int64_t young = 0;                    // rows after that
  };

  // `keep`: how long published events are kept.
  explicit prune_walk(std::chrono::milliseconds keep) : keep_(keep) {}

  void begin(clock::time_point now);
  // Whether there is more to look at. If so, from() has the seq to continue after.
  bool on_walked(const stretch& found, clock::time_point now);
  std::int64_t from() const { return from_; }

 private:
  clock::duration until_restart() const;

  std::chrono::milliseconds keep_;
  std::int64_t from_ = position::before_all;
  std::int64_t old_up_to_ = position::before_all;   // the next walk begins behind this seq
  std::int64_t young_ = 0;                          // in a row
  std::optional<clock::time_point> from_start_at_;  // when the latest walk from the start began
  bool from_start_ = false;                         // this one is such a walk
  clock::duration took_{};                          // the latest one of them
};

}  // namespace outboxd::flow
