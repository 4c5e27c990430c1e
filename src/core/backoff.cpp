#include "core/backoff.hpp"

#include <algorithm>

namespace outboxd {

backoff::duration backoff::next() {
  constexpr int enough_doublings = 30;
  const auto ceiling =
      failures_ >= enough_doublings ? cap_ : std::min(cap_, base_ * (std::int64_t{1} << failures_));
  failures_ = std::min(failures_ + 1, enough_doublings);
  return duration(std::uniform_int_distribution<duration::rep>(0, ceiling.count())(random_));
}

}  // namespace outboxd
