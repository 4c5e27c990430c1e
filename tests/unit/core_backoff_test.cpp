// core_backoff_test: how long the waits between attempts are.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/backoff.hpp"

namespace core_backoff_test {

using namespace outboxd;
using namespace std::chrono_literals;

namespace {

// The longest of the n-th waits of many clients.
backoff::duration longest(int failures, backoff::duration base, backoff::duration cap) {
  backoff::duration most{0};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    backoff one(base, cap, seed);
    for (int i = 0; i < failures; ++i) one.next();
    most = std::max(most, one.next());
  }
  return most;
}

}  // namespace

TEST_CASE("the waits double with every failure up to the cap, and never exceed it") {
  for (const auto& [failures, ceiling] :
       {std::pair{0, 100ms}, {1, 200ms}, {2, 400ms}, {3, 800ms}, {4, 1000ms}, {9, 1000ms}}) {
    CAPTURE(failures);
    const auto most = longest(failures, 100ms, 1000ms);
    CHECK(most <= ceiling);
    CHECK(most > ceiling * 9 / 10);
  }
}

TEST_CASE("the waits are spread over the whole range from nothing") {
  int early = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed)
    early += backoff(1000ms, 1000ms, seed).next() < 500ms ? 1 : 0;
  CHECK(early > 400);
  CHECK(early < 600);
}

TEST_CASE("after a reset the waits begin anew") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    backoff one(10ms, 1h, seed);
    for (int i = 0; i < 20; ++i) one.next();
    one.reset();
    CHECK(one.next() <= 10ms);
  }
}

TEST_CASE("any number of failures stays within the cap") {
  backoff one(1h, 24h, 1);
  for (int i = 0; i < 10'000; ++i) {
    const auto wait = one.next();
    CHECK_UNARY(wait >= 0ms && wait <= 24h);
  }
}

TEST_CASE("two clients wait differently, the same seed the same") {
  backoff one(1h, 1h, 1);
  backoff same(1h, 1h, 1);
  backoff other(1h, 1h, 2);
  const auto wait = one.next();
  CHECK(wait == same.next());
  CHECK(wait != other.next());
}

}  // namespace core_backoff_test
