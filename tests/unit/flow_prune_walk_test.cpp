// flow_prune_walk_test: retention looks at what is old, once, and now and then at all of it.
#include "flow/retention/prune_walk.hpp"

#include <doctest/doctest.h>

namespace flow_prune_walk_test {

using namespace outboxd::flow;
using namespace std::chrono_literals;
using clock_point = prune_walk::clock::time_point;

namespace {

constexpr auto week = std::chrono::hours(7 * 24);
constexpr auto start = position::before_all;
const clock_point morning{100h};

prune_walk::stretch old_rows(std::int64_t last) {
  return {.rows = 500, .full = true, .last = last, .last_old = last, .young = 0};
}
prune_walk::stretch young_rows(std::int64_t last, std::int64_t rows = 500) {
  return {.rows = rows, .full = true, .last = last, .young = rows};
}

}  // namespace

TEST_CASE("a walk of retention goes through what is old and ends where a thousand are young in a row") {
  prune_walk it{week};
  it.begin(morning);
  CHECK(it.from() == start);
  CHECK(it.on_walked(old_rows(500), morning));
  CHECK(it.from() == 500);
  CHECK(it.on_walked({.rows = 500, .full = true, .last = 1'000, .last_old = 600, .young = 400}, morning));
  CHECK(it.from() == 1'000);
  CHECK(it.on_walked(young_rows(1'500), morning));
  CHECK_FALSE(it.on_walked(young_rows(1'600, 100), morning));
}

TEST_CASE("old rows among young ones let the walk of retention go on") {
  prune_walk it{week};
  it.begin(morning);
  CHECK(it.on_walked(young_rows(500), morning));
  CHECK(it.on_walked({.rows = 500, .full = true, .last = 1'000, .last_old = 900, .young = 100}, morning));
  CHECK(it.on_walked(young_rows(1'500), morning));
  CHECK_FALSE(it.on_walked(young_rows(2'000), morning));
}

TEST_CASE("a walk of retention ends with the table") {
  prune_walk it{week};
  it.begin(morning);
  CHECK_FALSE(it.on_walked({}, morning));
  it.begin(morning + 1s);
  CHECK_FALSE(
      it.on_walked({.rows = 20, .full = false, .last = 20, .last_old = 20, .young = 0}, morning + 1s));
}

TEST_CASE("the next walk of retention begins behind the last old row, and at the start once in an hour") {
  prune_walk it{week};
  const auto walk = [&](clock_point at) {
    it.begin(at);
    const auto from = it.from();
    it.on_walked({.rows = 500, .full = false, .last = from + 500, .last_old = 200, .young = 300}, at);
    return from;
  };
  CHECK(walk(morning) == start);
  CHECK(walk(morning + 1min) == 200);
  CHECK(walk(morning + 59min) == 200);
  CHECK(walk(morning + 1h) == start);
  CHECK(walk(morning + 1h + 1min) == 200);
  CHECK(walk(morning + 2h) == start);
}

TEST_CASE("with a short retention the start of the table is looked at more often") {
  prune_walk it{20min};
  it.begin(morning);
  it.on_walked({.rows = 9, .full = false, .last = 9, .last_old = 9, .young = 0}, morning);
  it.begin(morning + 1min);
  CHECK(it.from() == 9);
  it.begin(morning + 2min);
  CHECK(it.from() == start);
}

TEST_CASE("a walk of retention through the whole table is made for a small part of the time only") {
  prune_walk it{week};
  it.begin(morning);
  CHECK(it.on_walked(old_rows(500), morning + 5min));
  CHECK_FALSE(it.on_walked(young_rows(5'000, 1'000), morning + 10min));
  it.begin(morning + 199min);
  CHECK(it.from() == 500);
  it.on_walked({}, morning + 199min);
  it.begin(morning + 200min);
  CHECK(it.from() == start);
}

}  // namespace flow_prune_walk_test
