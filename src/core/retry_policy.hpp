// retry_policy: when an event that was refused is tried again, and when it is given up.
#pragma once

#include <chrono>
#include <optional>
#include <random>
#include <vector>

namespace outboxd {

class retry_policy {
 public:
  using duration = std::chrono::milliseconds;

  // After the n-th failure evenly between nothing and min(cap, base * 2^(n-1)): full jitter ("Exponential
  // Backoff And Jitter", AWS Architecture Blog). Dead with failure number max_attempts. All above zero, cap
  // not below base.
  static retry_policy exponential(duration base, duration cap, int max_attempts);

  // After the n-th failure exactly the n-th delay; dead with the failure after the last. Not empty, all above
  // zero.
  static retry_policy scheduled(std::vector<duration> delays);

  // `failures`: so far, including the latest. nullopt: the event is given up.
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
