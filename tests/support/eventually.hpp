// eventually: waits for a condition that a real server reaches in its own time; the only place that polls.
#pragma once

#include <string>
#include <thread>

#include "support/deadline.hpp"

namespace outboxd::test {

/// Calls `condition` until it returns something true, and returns that. Throws deadline_passed naming `what`.
/// The limit is for what never comes: far beyond what a busy machine needs. An exception from `condition` is
/// not swallowed. It is asked once more after the deadline, so that a slow answer does not turn into a
/// failure.
template <class Condition>
auto eventually(const std::string& what, Condition condition, std::chrono::milliseconds limit = patience) {
  const auto deadline = steady_clock::now() + limit;
  for (;;) {
    const bool last = steady_clock::now() >= deadline;
    if (auto result = condition()) return result;
    if (last) {
      throw deadline_passed{"did not happen within " + std::to_string(limit.count()) + " ms: " + what};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
}

}  // namespace outboxd::test
