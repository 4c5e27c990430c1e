#include "core/retry_policy.hpp"

#include <algorithm>
#include <utility>

namespace outboxd {
namespace {

using duration = retry_policy::duration;

duration jittered(duration base, duration cap, int failures, std::mt19937_64& chance) {
  constexpr int enough_doublings = 40;
  duration ceiling = std::min(base, cap);
  for (int i = 1; i < std::min(failures, enough_doublings) && ceiling < cap; ++i)
    ceiling = ceiling > cap / 2 ? cap : ceiling * 2;
  // Never zero: an event that is due at once would be read again by the next read.
  return duration(
      std::uniform_int_distribution<duration::rep>(1, std::max<duration::rep>(1, ceiling.count()))(chance));
}

}  // namespace

retry_policy retry_policy::exponential(duration base, duration cap, int max_attempts) {
  retry_policy out;
  out.base_ = base;
  out.cap_ = cap;
  out.max_attempts_ = max_attempts;
  return out;
}

retry_policy retry_policy::scheduled(std::vector<duration> delays) {
  retry_policy out;
  out.base_ = delays.front();
  out.cap_ = *std::max_element(delays.begin(), delays.end());
  out.max_attempts_ = static_cast<int>(delays.size()) + 1;
  out.schedule_ = std::move(delays);
  return out;
}

std::optional<duration> retry_policy::delay_after(int failures, std::mt19937_64& chance) const {
  if (failures >= max_attempts_) return std::nullopt;
  if (schedule_.empty()) return jittered(base_, cap_, failures, chance);
  return schedule_[static_cast<std::size_t>(std::max(failures, 1) - 1)];
}

}  // namespace outboxd
