#include "app/operate/changing.hpp"

#include <doctest/doctest.h>

namespace outboxd::app::app_changing_test {

using namespace std::chrono_literals;

TEST_CASE("with a rate, portions of a quarter of a second begin as far apart as their events allow") {
  const pace::clock::time_point now{1h};
  pace at{400, now};
  CHECK(at.most() == 100);
  CHECK(at.next() == now);
  at.began(now + 1s);
  at.took(100, now + 1s + 200ms);  // how long it took does not count
  CHECK(at.next() == now + 1s + 250ms);
  CHECK(pace{1, now}.most() == 1);
  CHECK(pace{1'000'000, now}.most() == most_in_portion);
}

TEST_CASE("without a rate, the rest after a portion is as long as the portion") {
  const pace::clock::time_point now{1h};
  pace at{std::nullopt, now};
  CHECK(at.most() == most_in_portion);
  CHECK(at.next() == now);
  at.began(now);
  at.took(1, now + 80ms);
  CHECK(at.next() == now + 160ms);
  at.began(now + 200ms);
  at.took(1'000, now + 500ms);
  CHECK(at.next() == now + 800ms);
}

}  // namespace outboxd::app::app_changing_test
