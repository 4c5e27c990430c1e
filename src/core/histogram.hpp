// histogram: counts durations by bucket.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

namespace outboxd {

class histogram {
 public:
  // Upper bounds in seconds, from half a millisecond to an hour; one more bucket has no bound.
  static constexpr std::array<double, 20> bounds{0.0005, 0.001, 0.002, 0.005, 0.01,  0.02, 0.05,
                                                 0.1,    0.2,   0.5,   1,     2,     5,    10,
                                                 30,     60,    300,   900,   1'800, 3'600};

  // A negative duration, which two clocks that differ can produce, counts as 0.
  void add(std::chrono::nanoseconds one) {
    const double seconds = std::max(0.0, std::chrono::duration<double>(one).count());
    const auto at = std::lower_bound(bounds.begin(), bounds.end(), seconds) - bounds.begin();
    ++counts_[static_cast<std::size_t>(at)];
    ++count_;
    sum_ += seconds;
  }

  // Not cumulative: a bucket does not include those below it.
  const std::array<std::uint64_t, bounds.size() + 1>& counts() const { return counts_; }
  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::array<std::uint64_t, bounds.size() + 1> counts_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

}  // namespace outboxd
