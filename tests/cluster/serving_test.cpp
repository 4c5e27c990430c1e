#include "serving.hpp"

#include <doctest/doctest.h>

namespace outboxd::cluster::serving_test {

TEST_CASE("a queue is led from the first leader on until the last one has gone") {
  const stretch whole{0, 100};
  CHECK(led({}, whole).empty());
  CHECK(led({{10, 0, true}}, whole) == stretches{{10, 100}});
  CHECK(led({{10, 0, true}, {30, 0, false}, {45, 1, true}}, whole) == stretches{{10, 30}, {45, 100}});
  CHECK(led({{45, 1, true}, {10, 0, true}, {50, 0, false}}, whole) == stretches{{10, 100}});
  CHECK(led({{10, 0, true}, {30, 0, false}}, {15, 25}) == stretches{{15, 25}});
  CHECK(led({{10, 0, true}, {30, 0, false}}, {40, 50}).empty());
}

TEST_CASE("gaps are taken out of what is served") {
  CHECK(without({{0, 100}}, {{20, 30}, {90, 120}}) == stretches{{0, 20}, {30, 90}});
  CHECK(without({{0, 10}, {20, 30}}, {{5, 25}}) == stretches{{0, 5}, {25, 30}});
  CHECK(without({{0, 10}}, {{0, 10}}).empty());
  CHECK(longest_gap({{0, 20}, {30, 90}}, {0, 100}) == 10);
  CHECK(longest_gap({{0, 20}, {50, 90}}, {0, 100}) == 30);
}

TEST_CASE("an event is open only while the servers could do their part, and each part counts by itself") {
  CHECK(longest_open({{5, 40}}, {{0, 10}, {30, 100}}) == 10);
  CHECK(longest_open({{5, 40}, {32, 60}}, {{0, 10}, {30, 100}}) == 28);
  CHECK(longest_open({{12, 20}}, {{0, 10}, {30, 100}}) == 0);
  CHECK(longest_open({}, {{0, 10}}) == 0);
}

}  // namespace outboxd::cluster::serving_test
