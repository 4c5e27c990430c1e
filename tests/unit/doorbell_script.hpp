// doorbell_script: a relay's doorbell policy with a clock of its own, for scripts of what happens to it.
#pragma once

#include <doctest/doctest.h>

#include <ostream>
#include <string_view>

#include "core/doorbell_policy.hpp"

namespace outboxd {

inline std::string_view name_of(doorbell_policy::state which) {
  using state = doorbell_policy::state;
  switch (which) {
    case state::sleeping:
      return "sleeping";
    case state::alert:
      return "alert";
    case state::asking:
      return "asking";
    case state::hot:
      return "hot";
    case state::cooling:
      return "cooling";
  }
  return {};
}

inline std::ostream& operator<<(std::ostream& to, doorbell_policy::state which) {
  return to << name_of(which);
}
inline std::ostream& operator<<(std::ostream& to, const doorbell_actions& which) {
  return to << (which.look ? "look " : "") << (which.ask_mute ? "ask " : "")
            << (which.release_mute ? "release" : "");
}
inline bool operator==(const doorbell_actions& a, const doorbell_actions& b) {
  return a.look == b.look && a.ask_mute == b.ask_mute && a.release_mute == b.release_mute;
}
}  // namespace outboxd

namespace outboxd::test {

inline constexpr doorbell_actions nothing{};
inline constexpr doorbell_actions look{.look = true};
inline constexpr doorbell_actions ask{.ask_mute = true};
inline constexpr doorbell_actions look_and_ask{.look = true, .ask_mute = true};
// What it does when it stops to look: it looks once more.
inline constexpr doorbell_actions last_look = look;
inline constexpr doorbell_actions last_look_and_release{.look = true, .release_mute = true};

inline constexpr doorbell_policy::sweep not_over{};
inline constexpr doorbell_policy::sweep over{.silence_is_over = true};
inline constexpr doorbell_policy::sweep unannounced{.work = true, .unannounced = true};

// A relay and its clock.
struct doorbell_script {
  doorbell_limits limits;
  doorbell_policy policy{limits};
  doorbell_policy::time_point now{std::chrono::hours(1)};
  int looks = 0;

  doorbell_script() = default;
  explicit doorbell_script(const doorbell_limits& with) : limits(with), policy(with) {}

  doorbell_policy::state in() const { return policy.now_in(); }

  doorbell_script& start() {
    policy.on_mute_up();
    CHECK(policy.on_listening(now) == nothing);
    CHECK(policy.checks_silence());
    CHECK(policy.on_swept(over, now) == nothing);
    return *this;
  }
  // As many notifications as make it ask.
  doorbell_script& rush() {
    for (int i = 1; i < limits.busy; ++i) CHECK(policy.on_notified(1, now) == look);
    CHECK(policy.on_notified(1, now) == look_and_ask);
    CHECK(in() == doorbell_policy::state::asking);
    return *this;
  }
  doorbell_script& get_hot() {
    rush();
    CHECK(policy.on_granted(now) == nothing);
    CHECK(in() == doorbell_policy::state::hot);
    return *this;
  }
  // Time passes and every look finds nothing; returns the first thing that it does but look.
  doorbell_actions idle(std::chrono::nanoseconds how_long, bool answered = true) {
    const auto end = now + how_long;
    while (policy.next_look() <= end) {
      now = std::max(now, policy.next_look());
      const auto then = policy.on_timer(now);
      if (then.look) ++looks;
      if (then.ask_mute || then.release_mute || !policy.looks_come()) return then;
      if (!then.look || !answered) continue;
      const auto answer = policy.on_looked(0, false, now);
      if (!(answer == nothing)) return answer;
    }
    now = end;
    return nothing;
  }
};

}  // namespace outboxd::test
