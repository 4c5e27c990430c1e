// backoff: the pause before the next attempt: it grows with each failure up to a cap, with full jitter.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace outboxd {

// Full jitter: after n failures the pause is random, uniform between 0 and min(cap, base * 2^n), so that
// clients which lost the same server do not all reconnect at once ("Exponential Backoff And Jitter", AWS
// Architecture Blog).
class backoff {
 public:
  using duration = std::chrono::milliseconds;

  backoff(duration base, duration cap, std::uint64_t seed) : base_(base), cap_(cap), random_(seed) {}

  duration next();
  void reset() { failures_ = 0; }

 private:
  duration base_;
  duration cap_;
  int failures_ = 0;
  std::mt19937_64 random_;
};

}  // namespace outboxd
