#include "app/daemon/repeated.hpp"

#include <doctest/doctest.h>

namespace outboxd::app::app_repeated_test {

using namespace std::chrono_literals;

TEST_CASE("a condition is said when it is new, and then counted once a minute") {
  repeated of;
  repeated::clock::time_point now{};
  CHECK(of.meet("a", now) == 0);
  CHECK(of.meet("b", now) == 0);
  for (int i = 0; i < 5; ++i) CHECK_FALSE(of.meet("a", now + 59s));
  CHECK(of.meet("a", now + 60s) == 6);
  CHECK_FALSE(of.meet("a", now + 60s));
  CHECK(of.meet("b", now + 200s) == 1);
  CHECK(of.meet("a", now + 300s) == 2);
}

TEST_CASE("a condition that was over is new again, and not more than a hundred are known") {
  repeated of;
  repeated::clock::time_point now{};
  of.meet("a", now);
  of.forget();
  CHECK(of.meet("a", now) == 0);
  for (std::size_t i = 1; i < repeated::most; ++i) of.meet(std::to_string(i), now);
  CHECK_FALSE(of.meet("a", now));
  CHECK(of.meet("one more", now) == 0);
  CHECK(of.meet("a", now) == 0);
}

}  // namespace outboxd::app::app_repeated_test
