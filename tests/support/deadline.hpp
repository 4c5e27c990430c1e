// deadline: a point in time after which a wait gives up, and the error that says so.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace outboxd::test {

using steady_clock = std::chrono::steady_clock;

/// How long a wait for what has to come lasts at most: many times what it takes on a machine that does other
/// work beside. Only a test that fails waits so long. tools/mutants, where most do, has less of it: so many
/// seconds as OUTBOXD_TEST_PATIENCE says.
inline const std::chrono::milliseconds patience = [] {
  const char* const seconds = std::getenv("OUTBOXD_TEST_PATIENCE");
  return seconds != nullptr ? std::chrono::seconds{std::stoi(seconds)} : std::chrono::minutes{3};
}();

/// Thrown by every wait of this library whose deadline passed; what() names the thing that did not happen.
struct deadline_passed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Milliseconds from now until `deadline`, rounded up, never negative: what poll() and timers take.
inline std::chrono::milliseconds time_left(steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
  return std::max(left, std::chrono::milliseconds{0});
}

}  // namespace outboxd::test
