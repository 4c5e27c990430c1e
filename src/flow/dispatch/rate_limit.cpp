#include "flow/dispatch/rate_limit.hpp"

#include <algorithm>

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t bursts_per_second = 10;
constexpr auto shortest_wait = 10ms;

}  // namespace

// The interval is rounded up, so that the rate is never exceeded.
rate_limit::rate_limit(std::int64_t per_second) : per_second_(per_second) {
  if (!is_set()) return;
  constexpr std::chrono::nanoseconds second = 1s;
  interval_ = (second + std::chrono::nanoseconds(per_second - 1)) / per_second;
  slack_ = interval_ * (std::max<std::int64_t>(1, per_second / bursts_per_second) - 1);
}

void rate_limit::count(clock::time_point now) {
  full_at_ = std::max(full_at_, now) + interval_;
}

clock::time_point rate_limit::ask_again_at(clock::time_point now) const {
  return std::max(full_at_ - slack_, now + shortest_wait);
}

int rate_limit::worth_reading(int batch) const {
  return is_set() ? static_cast<int>(std::min<std::int64_t>(batch, per_second_)) : batch;
}

}  // namespace outboxd::flow
