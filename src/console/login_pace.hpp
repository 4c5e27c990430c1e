// login_pace: how often somebody may be wrong about a token.
#pragma once

#include <algorithm>
#include <chrono>

namespace outboxd::console {

// For all clients together: behind a proxy they have one address, and an attacker has many.
class login_pace {
 public:
  using clock = std::chrono::steady_clock;

  static constexpr int at_once = 10;
  static constexpr std::chrono::seconds between{6};

  // Whether another token is looked at now.
  bool may_try(clock::time_point now) const { return next_ <= now + between * (at_once - 1); }

  void was_wrong(clock::time_point now) { next_ = std::max(next_, now) + between; }

  // How long until may_try.
  std::chrono::seconds wait(clock::time_point now) const {
    if (may_try(now)) return std::chrono::seconds(0);
    return std::chrono::ceil<std::chrono::seconds>(next_ - now - between * (at_once - 1));
  }

 private:
  clock::time_point next_{};
};

}  // namespace outboxd::console
