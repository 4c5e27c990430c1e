// pace: how many answers are given in a second. Whoever asks without a pause waits and does not keep the
// reactor busy.
#pragma once

#include <algorithm>
#include <chrono>

namespace outboxd::http {

class pace {
 public:
  using clock = std::chrono::steady_clock;

  // At least 1. One second's worth may be given at once.
  explicit pace(int per_second) : interval_(clock::duration(std::chrono::seconds(1)) / per_second) {}

  // Takes the next turn, and says when it is.
  clock::time_point next(clock::time_point now) {
    next_ = std::max(next_, now - std::chrono::seconds(1)) + interval_;
    return std::max(next_, now);
  }

 private:
  clock::duration interval_;
  clock::time_point next_;
};

}  // namespace outboxd::http
