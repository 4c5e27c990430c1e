// pace: limits the number of answers per second, so that a client that sends requests without pause has to
// wait and does not keep the reactor busy.
#pragma once

#include <algorithm>
#include <chrono>

namespace outboxd::http {

class pace {
 public:
  using clock = std::chrono::steady_clock;

  // per_second must be at least 1. Up to one second's worth of answers may be sent at once.
  explicit pace(int per_second) : interval_(clock::duration(std::chrono::seconds(1)) / per_second) {}

  // Reserves the next turn, and returns its time.
  clock::time_point next(clock::time_point now) {
    next_ = std::max(next_, now - std::chrono::seconds(1)) + interval_;
    return std::max(next_, now);
  }

 private:
  clock::duration interval_;
  clock::time_point next_;
};

}  // namespace outboxd::http
