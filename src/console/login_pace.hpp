// login_pace: limits how often a wrong token may be tried.
#pragma once

#include <algorithm>
#include <chrono>

namespace outboxd::console {

// One limit for all clients: behind a proxy they share one address, and an attacker may have many.
class login_pace {
 public:
  using clock = std::chrono::steady_clock;

  static constexpr int at_once = 10;
  static constexpr std::chrono::seconds between{6};

  // True if another token may be tried now.
  bool may_try(clock::time_point now) const { return next_ <= now + between * (at_once - 1); }

  void was_wrong(clock::time_point now) { next_ = std::max(next_, now) + between; }

  // The time until may_try() becomes true.
  std::chrono::seconds wait(clock::time_point now) const {
    if (may_try(now)) return std::chrono::seconds(0);
    return std::chrono::ceil<std::chrono::seconds>(next_ - now - between * (at_once - 1));
  }

 private:
  clock::time_point next_{};
};

}  // namespace outboxd::console
