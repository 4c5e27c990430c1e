// flow_missed_rows_test: what came in behind the position is found by a slow walk, and nothing else is taken
// for it.
#include "flow/stream/missed_rows.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace flow_missed_rows_test {

using namespace outboxd::flow;

namespace {

constexpr auto start = position::before_all;

std::optional<std::int64_t> next_walk(missed_rows& it, std::int64_t watermark) {
  for (int i = 0; i < 9; ++i) CHECK_FALSE(it.next(watermark));
  return it.next(watermark);
}

}  // namespace

TEST_CASE(
    "every tenth sweep walks on from where the walk before ended, and from the start when all is seen") {
  missed_rows it;
  CHECK(next_walk(it, 100'000) == start);
  CHECK_FALSE(it.on_walked({.walked_to = 10'000, .met = false, .more = true}, 100'000));
  CHECK(next_walk(it, 100'000) == 10'000);
  CHECK_FALSE(it.on_walked({.walked_to = 11'000, .met = false, .more = false}, 100'000));
  CHECK(next_walk(it, 100'000) == start);
  it.on_walked({.walked_to = 10'000, .met = false, .more = true}, 100'000);
  CHECK(next_walk(it, 5'000) == start);
}

TEST_CASE("leads that end after a few sweeps keep nobody from walking on") {
  missed_rows it;
  for (const std::int64_t from : {start, std::int64_t{10'000}}) {
    for (int lead = 0; lead < 3; ++lead) {
      it.start();
      for (int sweep = 0; sweep < 3; ++sweep) CHECK_FALSE(it.next(100'000));
    }
    it.start();
    CHECK(it.next(100'000) == from);
    it.on_walked({.walked_to = 10'000, .met = false, .more = true}, 100'000);
  }
}

TEST_CASE("a row that is pending at two sweeps in a row is read again") {
  missed_rows it;
  next_walk(it, 1'000);
  CHECK_FALSE(it.on_walked({.walked_to = 41, .met = true, .more = true}, 1'000));
  CHECK(it.next(1'000) == 41);
  CHECK(it.on_walked({.walked_to = 41, .met = true, .more = true}, 1'000) == 42);
  CHECK(next_walk(it, 1'000) == 41);
}

TEST_CASE("a row that was only read late, or is under way, is left alone") {
  missed_rows it;
  next_walk(it, 1'000);
  it.on_walked({.walked_to = 41, .met = true, .more = true}, 1'000);
  CHECK(it.next(1'000) == 41);
  CHECK_FALSE(it.on_walked({.walked_to = 500, .met = false, .more = false}, 1'000));
  next_walk(it, 1'000);
  CHECK_FALSE(it.on_walked({.walked_to = 41, .met = true, .more = true}, 1'000));
  CHECK(it.next(41) == start);  // it has been read meanwhile
  CHECK_FALSE(it.on_walked({.walked_to = 41, .met = true, .more = true}, 41));
}

TEST_CASE("a walk may end at the highest seq that there is") {
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  missed_rows it;
  next_walk(it, highest);
  CHECK_FALSE(it.on_walked({.walked_to = highest, .met = false, .more = true}, highest));
  CHECK(next_walk(it, highest) == start);
  CHECK_FALSE(it.on_walked({.walked_to = highest - 1, .met = true, .more = false}, highest));
  CHECK(it.next(highest) == highest - 1);
  CHECK(it.on_walked({.walked_to = highest - 1, .met = true, .more = false}, highest) == highest);
}

}  // namespace flow_missed_rows_test
