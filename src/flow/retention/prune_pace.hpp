// prune_pace: how many rows retention looks at in one statement, and how long it rests after it.
#pragma once

#include <chrono>

namespace outboxd::flow {

// Deleting takes a small share of one processor, and a smaller one while events wait to be published. So the
// rate follows from the time of a statement on this server, not from a number of rows.
class prune_pace {
 public:
  using duration = std::chrono::steady_clock::duration;

  enum class load {
    light,
    backlog,  // there are more events to publish than one read returns
  };

  static constexpr int least_rows = 100;
  static constexpr int most_rows = 5'000;
  static constexpr int resting_share = 4;    // a rest lasts this many times as long as the statement
  static constexpr int yielding_share = 19;  // the same beside a backlog
  static constexpr duration aim = std::chrono::milliseconds(10);  // for one statement
  static constexpr duration longest_rest = std::chrono::seconds(10);
  static constexpr duration first_retry = std::chrono::seconds(1);
  static constexpr duration longest_retry = std::chrono::seconds(60);

  // Most rows that the next statement may look at.
  int rows() const { return rows_; }

  // Takes the duration of a statement; returns how long to rest now.
  duration after(duration took, load now);

  // PostgreSQL has refused a statement, for a lock or a timeout; returns how long to rest.
  duration after_refusal();
  int refusals() const { return refusals_; }  // in a row

 private:
  int rows_ = 1'000;
  int refusals_ = 0;
  duration retry_ = first_retry;
};

}  // namespace outboxd::flow
