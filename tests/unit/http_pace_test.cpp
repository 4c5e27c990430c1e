// http_pace_test: how many answers are given in a second.
#include <doctest/doctest.h>

#include "http/pace.hpp"

namespace http_pace_test {

using namespace outboxd::http;
using namespace std::chrono_literals;

TEST_CASE("a second's worth of answers is given at once, and further ones in their turn") {
  pace turns(10);
  const auto now = pace::clock::now();
  for (int i = 0; i < 10; ++i) CHECK(turns.next(now) == now);
  for (int i = 1; i <= 5; ++i) CHECK(turns.next(now) == now + i * 100ms);
}

TEST_CASE("a pause saves up a second's worth of answers and no more") {
  pace turns(10);
  const auto now = pace::clock::now();
  turns.next(now);
  const auto later = now + 1h;
  for (int i = 0; i < 10; ++i) CHECK(turns.next(later) == later);
  CHECK(turns.next(later) == later + 100ms);
}

}  // namespace http_pace_test
