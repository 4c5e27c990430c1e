// backoff: how long to wait before the next attempt, growing, capped, with full jitter.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace outboxd {

// Full jitter: evenly between nothing and min(cap, base * 2^n) after n failures, so that many clients that
// lost the same server do not come back together ("Exponential Backoff And Jitter", AWS Architecture Blog).
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
