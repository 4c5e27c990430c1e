// eventually: waits for a condition that a real server reaches in its own time; the only place that polls.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "support/deadline.hpp"

namespace outboxd::test {

/// Calls `condition` until it returns something true, and returns that. Throws deadline_passed naming `what`.
/// The limit is for what never comes: far beyond what a busy machine needs. An exception from `condition` is
/// not swallowed. It is asked once more after the deadline, so that a slow answer does not turn into a
/// failure. The longer it takes, the rarer it asks: what it asks costs the machine that it waits for.
template <class Condition>
auto eventually(const std::string& what, Condition condition, std::chrono::milliseconds limit = patience) {
  const auto begin = steady_clock::now();
  const auto deadline = begin + limit;
  for (;;) {
    const bool last = steady_clock::now() >= deadline;
    if (auto result = condition()) return result;
    if (last) {
      throw deadline_passed{"did not happen within " + std::to_string(limit.count()) + " ms: " + what};
    }
    using std::chrono::milliseconds;
    std::this_thread::sleep_for(std::clamp<steady_clock::duration>((steady_clock::now() - begin) / 20,
                                                                   milliseconds{5}, milliseconds{100}));
  }
}

}  // namespace outboxd::test
