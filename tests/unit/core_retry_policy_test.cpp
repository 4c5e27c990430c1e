// core_retry_policy_test: how long a refused event waits, and when it is given up.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/retry_policy.hpp"

namespace core_retry_policy_test {

using namespace outboxd;
using namespace std::chrono_literals;

namespace {

// The least and the longest of many delays after so many failures.
std::pair<std::chrono::milliseconds, std::chrono::milliseconds> range_of(const retry_policy& policy,
                                                                         int failures) {
  std::mt19937_64 chance(1);
  auto least = std::chrono::milliseconds::max();
  auto most = 0ms;
  for (int i = 0; i < 2000; ++i) {
    const auto delay = policy.delay_after(failures, chance).value();
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  return {least, most};
}

}  // namespace

TEST_CASE("delays are spread evenly up to a bound that doubles with each failure and stops at the cap") {
  const auto policy = retry_policy::exponential(100ms, 1s, 1000);
  const std::pair<int, std::chrono::milliseconds> bounds[] = {
      {1, 100ms}, {2, 200ms}, {3, 400ms}, {4, 800ms}, {5, 1s},
      {6, 1s},    {63, 1s},   {64, 1s},   {65, 1s},   {999, 1000ms}};
  for (const auto& [failures, bound] : bounds) {
    CAPTURE(failures);
    const auto [least, most] = range_of(policy, failures);
    CHECK(least >= 1ms);
    CHECK(least < bound / 20);
    CHECK(most <= bound);
    CHECK(most > bound * 19 / 20);
  }
}

TEST_CASE("with failure number max_attempts an event is given up") {
  std::mt19937_64 chance(1);
  const auto policy = retry_policy::exponential(1s, 1s, 3);
  CHECK(policy.delay_after(2, chance).has_value());
  CHECK_FALSE(policy.delay_after(3, chance).has_value());
  CHECK_FALSE(policy.delay_after(4, chance).has_value());
  CHECK_FALSE(retry_policy::exponential(1s, 1s, 1).delay_after(1, chance).has_value());
}

TEST_CASE("a schedule is kept to the letter, and its end is the cap") {
  std::mt19937_64 chance(1);
  const auto policy = retry_policy::scheduled({1s, 10s, 2s});
  CHECK(policy.max_attempts() == 4);
  CHECK(policy.delay_after(1, chance) == 1s);
  CHECK(policy.delay_after(2, chance) == 10s);
  CHECK(policy.delay_after(3, chance) == 2s);
  CHECK_FALSE(policy.delay_after(4, chance).has_value());
}

TEST_CASE("the longest base and cap do not overflow") {
  std::mt19937_64 chance(1);
  const auto month = std::chrono::milliseconds(30 * 24h);
  const auto policy = retry_policy::exponential(month, month, 10'000);
  for (const int failures : {1, 2, 64, 9'999}) CHECK(policy.delay_after(failures, chance).value() <= month);
}

}  // namespace core_retry_policy_test
