// retry_policy: when a refused event is retried, and when outboxd gives up.
#pragma once

#include <chrono>
#include <optional>
#include <random>
#include <vector>

namespace outboxd {

class retry_policy {
 public:
  using duration = std::chrono::milliseconds;

  // The delay after the n-th failure is random, uniform between 1 ms and min(cap, base * 2^(n-1)): full
  // jitter ("Exponential Backoff And Jitter", AWS Architecture Blog). The event is dead after max_attempts
  // failures. All arguments must be positive, and cap at least base.
  static retry_policy exponential(duration base, duration cap, int max_attempts);

  // The delay after the n-th failure is the n-th in the list; the event is dead after the failure that
  // follows the last delay. The list must not be empty, and all delays must be positive.
  static retry_policy scheduled(std::vector<duration> delays);

  // `failures`: the failures so far, including the latest. nullopt: outboxd gives up on the event.
  std::optional<duration> delay_after(int failures, std::mt19937_64& chance) const;

  int max_attempts() const { return max_attempts_; }

 private:
  retry_policy() = default;

  duration base_{};
  duration cap_{};
  int max_attempts_ = 0;
  std::vector<duration> schedule_;
};

}  // namespace outboxd
