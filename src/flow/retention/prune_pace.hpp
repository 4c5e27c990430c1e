// prune_pace: how many rows retention scans in one statement, and how long it pauses afterwards.
#pragma once

#include <chrono>

namespace outboxd::flow {

// Deleting uses a small share of one processor, and a smaller one while events wait to be published. The rate
// therefore follows from the time that a statement takes on this server, not from a number of rows.
class prune_pace {
 public:
  using duration = std::chrono::steady_clock::duration;

  enum class load {
    light,
    backlog,  // more events are waiting than one read returns
  };

  static constexpr int least_rows = 100;
  static constexpr int most_rows = 5'000;
  static constexpr int resting_share = 4;    // a pause is this many times as long as the statement before it
  static constexpr int yielding_share = 19;  // like resting_share, while there is a backlog
  static constexpr duration aim = std::chrono::milliseconds(10);  // target duration of one statement
  static constexpr duration longest_rest = std::chrono::seconds(10);
  static constexpr duration first_retry = std::chrono::seconds(1);
  static constexpr duration longest_retry = std::chrono::seconds(60);

  // Maximum rows that the next statement may scan.
  int rows() const { return rows_; }

  // Takes the duration of a statement; returns how long to pause now.
  duration after(duration took, load now);

  // PostgreSQL rejected a statement because of a lock or a timeout; returns how long to pause.
  duration after_refusal();
  int refusals() const { return refusals_; }  // consecutive

 private:
  int rows_ = 1'000;
  int refusals_ = 0;
  duration retry_ = first_retry;
};

}  // namespace outboxd::flow
