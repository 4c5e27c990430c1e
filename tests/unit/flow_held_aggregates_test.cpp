// flow_held_aggregates_test: which aggregates hold back their events, and which are looked up.
#include "flow/stream/held_aggregates.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace flow_held_aggregates_test {

using namespace outboxd::flow;

namespace {

using list = std::vector<aggregate>;
constexpr auto first = std::numeric_limits<aggregate>::min();
constexpr auto last = std::numeric_limits<aggregate>::max();

list asks(held_aggregates& of) {
  return of.take(100, [](aggregate) { return false; });
}

}  // namespace

TEST_CASE("an aggregate whose head backs off is held until that is settled and nothing parked is left") {
  held_aggregates held(10);
  held.begin(1, hold::head_waits);
  CHECK(held.holds(1));
  CHECK_FALSE(held.holds(2));
  CHECK_FALSE(held.asks());
  held.on_head_settled(1);
  CHECK(held.holds(1));
  CHECK(asks(held) == list{1});
  held.on_all_released(1);
  CHECK_FALSE(held.holds(1));
}

TEST_CASE("a look-up that was sent before the last parking was answered frees nobody") {
  held_aggregates held(10);
  held.begin(1, hold::draining);
  CHECK(asks(held) == list{1});
  held.on_to_record(1);
  held.on_all_released(1);
  CHECK(held.holds(1));
  CHECK_FALSE(held.asks());
  held.on_recorded(1);
  CHECK(asks(held) == list{1});
  held.on_all_released(1);
  CHECK_FALSE(held.holds(1));
}

TEST_CASE("an aggregate with events in memory is not looked up, and they call for it when they are settled") {
  held_aggregates held(10);
  held.begin(1, hold::draining);
  CHECK(held.take(100, [](aggregate) { return true; }).empty());
  CHECK_FALSE(held.asks());
  held.on_head_settled(1);
  CHECK(asks(held) == list{1});
}

TEST_CASE("an aggregate is asked for once, and again after that") {
  held_aggregates held(10);
  held.begin(1, hold::draining);
  held.on_head_settled(1);
  held.begin(2, hold::draining);
  CHECK(held.take(1, [](aggregate) { return false; }) == list{1});
  CHECK(asks(held) == list{2});
  held.on_head_settled(1);
  CHECK(asks(held) == list{1});
}

TEST_CASE("who turns out to have a head that waits is left alone") {
  held_aggregates held(10);
  held.begin(1, hold::draining);
  CHECK(asks(held) == list{1});
  held.on_head_waits(1);
  held.on_to_record(1);
  held.on_recorded(1);
  CHECK_FALSE(held.asks());
  CHECK(held.holds(1));
}

TEST_CASE(
    "a page of the table brings who is not known, asks for those without a head, and for those that are gone "
    "from it") {
  held_aggregates held(10);
  for (const aggregate one : {1, 3, 5, 7, 9}) held.begin(one, hold::head_waits);
  held.on_to_record(7);
  held.on_page({{1, true}, {2, true}, {3, false}}, first, 7);
  CHECK(held.holds(2));
  CHECK(asks(held) == list{3, 5});  // 7 is on its way into the table, 9 is beyond the page
}

TEST_CASE(
    "above the bound every aggregate counts as held, and is looked up when something of it is settled") {
  held_aggregates held(1);
  held.begin(1, hold::head_waits);
  held.begin(2, hold::head_waits);
  CHECK(held.size() == 1);
  CHECK(held.holds(3));
  held.on_to_record(3);
  held.on_recorded(3);
  CHECK(asks(held) == list{3});
}

TEST_CASE("the bound is forgotten only when one whole pass over the table has found room for all") {
  held_aggregates held(2);
  for (const aggregate one : {1, 2, 3}) held.begin(one, hold::head_waits);
  CHECK(held.holds(9));
  held.on_all_released(1);
  held.on_page({{3, true}}, 2, last);  // not from the beginning
  CHECK(held.holds(9));
  held.on_page({{2, true}}, first, 2);
  held.on_page({{3, true}}, 2, last);
  CHECK_FALSE(held.holds(9));
  CHECK(held.holds(3));
}

TEST_CASE("what is still to be recorded when a pass begins may be missing in it") {
  held_aggregates held(1);
  held.begin(1, hold::head_waits);
  held.on_to_record(2);  // there is no room for its name
  held.on_all_released(1);
  held.on_page({}, first, last);
  CHECK(held.holds(9));
  held.on_recorded(2);
  held.on_page({{2, true}}, first, last);
  CHECK_FALSE(held.holds(9));
  CHECK(held.holds(2));
}

TEST_CASE("above the bound who is to be looked up is bounded, too, and the pages bring the others again") {
  held_aggregates held(2);
  for (const aggregate one : {1, 2, 3}) held.begin(one, hold::head_waits);
  for (aggregate one = 10; one < 100; ++one) {
    held.on_to_record(one);
    held.on_recorded(one);
    held.on_to_record(one);
    held.on_recorded(one);
  }
  CHECK(asks(held) == list{10, 11});
  held.on_all_released(1);
  held.on_all_released(2);
  held.on_page({{50, false}, {51, false}, {52, false}}, first, last);
  CHECK(held.holds(9));
  CHECK(asks(held) == list{50, 51});
  held.on_all_released(50);
  held.on_all_released(51);
  held.on_page({{52, false}}, first, last);
  CHECK_FALSE(held.holds(9));
  CHECK(asks(held) == list{52});
}

}  // namespace flow_held_aggregates_test
