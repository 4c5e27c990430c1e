// probe_budget: how many probes per second a relay sends to all destinations together.
#pragma once

#include "flow/dispatch/rate_limit.hpp"

namespace outboxd::flow {

// Pure. Each successful probe doubles the rate, and each failed probe halves it. So destinations that stay
// down cost little, and recovered destinations are found quickly.
class probe_budget {
 public:
  static constexpr std::int64_t least = 20;
  static constexpr std::int64_t most = 20'480;

  bool allows(clock::time_point now) const { return limit_.allows(now); }
  void count(clock::time_point now) { limit_.count(now); }
  clock::time_point ask_again_at(clock::time_point now) const { return limit_.ask_again_at(now); }
  std::int64_t rate() const { return rate_; }

  void widen() { set(rate_ * 2); }
  void narrow() { set(rate_ / 2); }

 private:
  void set(std::int64_t rate) {
    rate = rate < least ? least : rate > most ? most : rate;
    if (rate == rate_) return;
    rate_ = rate;
    limit_ = rate_limit(rate);
  }

  std::int64_t rate_ = least;
  rate_limit limit_{least};
};

}  // namespace outboxd::flow
