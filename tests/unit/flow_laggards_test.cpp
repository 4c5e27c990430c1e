// flow_laggards_test: which aggregates the stream goes on without, and from where each is read.
#include "flow/stream/laggards.hpp"

#include <doctest/doctest.h>

namespace flow_laggards_test {

using namespace outboxd::flow;

namespace {

const auto all = [](aggregate, lag) { return true; };

}  // namespace

TEST_CASE("who was left behind is passed over from there on, until it has caught up") {
  laggards it(100);
  CHECK_FALSE(it.passes_over(1, 5));
  REQUIRE(it.leave_behind(1, 5));
  CHECK(it.passes_over(1, 5));
  CHECK_FALSE(it.passes_over(1, 4));
  CHECK_FALSE(it.passes_over(2, 5));
  it.on_read(1, 8, 10);
  CHECK_FALSE(it.passes_over(1, 8));
  CHECK(it.passes_over(1, 9));
  CHECK(it.where(all).front().after == 8);
  SUBCASE("it has come to where the others are") {
    it.on_read(1, 10, 10);
  }
  SUBCASE("there is nothing more of it") {
    it.on_read(1, std::nullopt, 10);
  }
  CHECK(it.empty());
}

TEST_CASE("an answer that is older than the latest moves nobody back") {
  laggards it(100);
  it.leave_behind(1, 5);
  it.on_read(1, 8, 10);
  it.on_read(1, 6, 10);
  it.on_read(2, std::nullopt, 10);
  CHECK(it.where(all).front().after == 8);
}

TEST_CASE("who was read further than a position that goes back is read with the others again") {
  laggards it(100);
  it.leave_behind(1, 5);
  it.leave_behind(2, 8);
  it.on_passed(7);
  CHECK_FALSE(it.state_of(2));
  CHECK(it.passes_over(1, 5));
}

TEST_CASE("the lowest event that was left behind is known") {
  laggards it(100);
  CHECK_FALSE(it.lowest());
  it.leave_behind(1, 7);
  it.leave_behind(2, 5);
  CHECK(it.lowest() == 5);
}

TEST_CASE("no more than sixteen are left behind") {
  laggards it(100);
  for (aggregate one = 1; one <= 16; ++one) CHECK(it.leave_behind(one, 5));
  CHECK_FALSE(it.leave_behind(17, 5));
  CHECK(it.names().size() == 16);
}

TEST_CASE("who is overtaken by more than so many events is known as that") {
  laggards it(2);
  it.leave_behind(1, 5);
  it.on_overtaking();
  it.on_overtaking();
  CHECK(it.state_of(1) == lag::follows);
  it.on_overtaking();
  CHECK(it.state_of(1) == lag::overtaken);
  CHECK_FALSE(it.state_of(2));
}

}  // namespace flow_laggards_test
