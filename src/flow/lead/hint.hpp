// hint: a word on the channel, which anybody can say. It is followed at once, and then at most once in a
// while.
#pragma once

#include <chrono>

#include "flow/clock.hpp"

namespace outboxd::flow {

class hint {
 public:
  explicit hint(std::chrono::milliseconds at_most_every) : every_(at_most_every) {}

  void hear() { heard_ = true; }
  // Whether to follow it now.
  bool take(clock::time_point now) {
    if (!heard_ || now < next_) return false;
    heard_ = false;
    next_ = now + every_;
    return true;
  }
  clock::time_point next() const { return heard_ ? next_ : clock::time_point::max(); }

 private:
  std::chrono::milliseconds every_;
  clock::time_point next_{};
  bool heard_ = false;
};

}  // namespace outboxd::flow
