// flow_lead_test: when a relay takes a lead, makes way for others, and leads on.
#include "flow/lead.hpp"

#include <doctest/doctest.h>

namespace flow_lead_test {

using namespace outboxd::flow;
using namespace std::chrono_literals;

namespace {

using action = lead::action;
using state = lead::state;

constexpr clock::time_point begin{1h};

// A lead that was just taken.
struct taken {
  lead it;
  clock::time_point now = begin;
  bool too_many = false;
  bool meets_lock = false;

  taken() { it.on_taken(now); }
  action step() { return it.step(too_many, meets_lock, now); }
  action after(clock::duration more) {
    now += more;
    return step();
  }
};

}  // namespace

TEST_CASE(
    "who gives a lead up in order leaves it to others for a second; whose session ended tries at once") {
  lead one;
  CHECK(one.may_try(begin));
  one.on_taken(begin);
  CHECK(one.now_in() == state::leading);
  CHECK_FALSE(one.may_try(begin));
  one.on_lost();
  CHECK(one.may_try(begin));
  one.on_taken(begin);
  one.on_given_up(begin);
  CHECK_FALSE(one.may_try(begin + 999ms));
  CHECK(one.may_try(begin + 1s));
}

TEST_CASE("without a broker a leader counts the others after a second, and not before, however it turns") {
  taken of;
  of.it.on_broker(true, of.now);
  CHECK(of.it.next(false) == clock::time_point::max());
  of.now += 10s;
  for (int turns = 0; turns < 10; ++turns) {
    of.it.on_broker(false, of.now);
    CHECK_FALSE(of.it.wants_count(of.now));
    CHECK(of.step() == action::none);
    CHECK(of.it.next(false) == begin + 11s);
    of.now += 99ms;
  }
  of.now = begin + 11s;
  REQUIRE(of.it.wants_count(of.now));
  of.it.on_counted(0, of.now);
  CHECK(of.step() == action::none);
  CHECK(of.it.next(false) == of.now + 1s);
  of.now += 1s;
  REQUIRE(of.it.wants_count(of.now));
  of.it.on_counted(1, of.now);
  CHECK(of.step() == action::drain);
  CHECK(of.it.now_in() == state::making_way);
}

TEST_CASE("relays that were counted in an earlier outage, or while there was a broker, count for nothing") {
  taken of;
  of.it.on_broker(false, of.now);
  of.it.on_counted(3, of.now);
  of.it.on_broker(true, of.now);
  of.it.on_counted(3, of.now);
  of.it.on_broker(false, of.now += 1s);
  CHECK(of.after(1s) == action::none);
  CHECK(of.it.wants_count(of.now));
}

TEST_CASE("a broker that comes back in time changes nothing") {
  taken of;
  of.it.on_broker(false, of.now);
  of.it.on_broker(true, of.now += 900ms);
  of.it.on_broker(false, of.now += 50ms);
  CHECK_FALSE(of.it.wants_count(of.now + 999ms));
  CHECK(of.it.wants_count(of.now + 1s));
}

TEST_CASE("who makes way leads on if it does not come to rest: after a second, then after twice the time") {
  taken of;
  of.too_many = true;
  for (const auto drain : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 64s}) {
    CHECK(of.step() == action::drain);
    CHECK(of.it.next(false) == of.now + drain);
    CHECK(of.after(drain - 1ms) == action::drain);
    CHECK(of.after(1ms) == action::lead_on);
    CHECK(of.it.now_in() == state::leading);
    CHECK_FALSE(of.it.may_make_way(of.now));
    CHECK(of.after(5s - 1ms) == action::none);
    of.now += 1ms;
  }
}

TEST_CASE("whom a lock keeps from coming to rest leads on after a second each time") {
  taken of;
  of.too_many = of.meets_lock = true;
  for (int tries = 0; tries < 5; ++tries) {
    CHECK(of.step() == action::drain);
    CHECK(of.after(1s) == action::lead_on);
    of.now += 5s;
  }
}

TEST_CASE("a request is followed at once, also just after a drain that came to nothing, and once") {
  taken of;
  of.it.yield(of.now);
  CHECK(of.step() == action::drain);
  CHECK(of.after(1s) == action::lead_on);
  CHECK(of.step() == action::none);
  of.it.yield(of.now);
  CHECK(of.step() == action::drain);
}

TEST_CASE("a new lead knows nothing of the drains of the former one") {
  taken of;
  of.too_many = true;
  of.step();
  of.after(1s);
  of.it.on_lost();
  of.it.on_taken(of.now);
  CHECK(of.step() == action::drain);
  CHECK(of.it.next(false) == of.now + 1s);
}

TEST_CASE("who leaves a server that wants no writes does not lead on there, and may lead again") {
  taken of;
  of.it.leave();
  CHECK(of.it.leaving());
  CHECK(of.step() == action::drain);
  CHECK(of.it.next(false) == clock::time_point::max());
  CHECK(of.after(1h) == action::drain);
  of.it.yield(of.now);
  CHECK(of.it.leaving());
  of.it.on_lost();
  CHECK(of.it.may_try(of.now));
}

TEST_CASE("a lock that lasts keeps nobody on a server that wants no writes for longer than a second") {
  taken of;
  of.it.leave();
  CHECK(of.after(1h) == action::drain);  // confirms may take their time
  of.meets_lock = true;
  CHECK(of.step() == action::drain);
  CHECK(of.it.next(true) == of.now + 1s);
  CHECK(of.after(999ms) == action::drain);
  of.meets_lock = false;
  CHECK(of.after(1ms) == action::drain);
  of.meets_lock = true;
  CHECK(of.after(1h) == action::drain);  // another lock
  of.it.leave();                         // the same again
  CHECK(of.after(1s) == action::give_up);
  of.it.on_lost();
  CHECK(of.it.now_in() == state::standing_by);
}

TEST_CASE("a lock that lasts keeps nobody from making way without a broker, if another relay has one") {
  for (const int others : {1, 0}) {
    CAPTURE(others);
    taken of;
    of.meets_lock = true;
    of.it.on_broker(false, of.now);
    of.now += 1s;
    REQUIRE(of.it.wants_count(of.now));
    of.it.on_counted(1, of.now);
    REQUIRE(of.step() == action::drain);
    of.it.on_counted(others, of.now);
    CHECK(of.after(999ms) == action::drain);
    CHECK(of.after(1ms) == (others == 1 ? action::give_up : action::lead_on));
  }
}

TEST_CASE("a stop is for good, whatever comes before or after it") {
  for (const auto before : {state::standing_by, state::leading, state::making_way, state::leaving}) {
    lead one;
    if (before != state::standing_by) one.on_taken(begin);
    if (before == state::making_way) one.yield(begin);
    if (before == state::leaving) one.leave();
    REQUIRE(one.now_in() == before);
    one.stop();
    one.on_taken(begin);
    one.leave();
    one.yield(begin);
    CHECK(one.step(false, false, begin + 1h) == action::drain);
    CHECK_FALSE(one.wants_count(begin + 1h));
    one.on_given_up(begin);
    one.on_lost();
    CHECK(one.stopping());
    CHECK_FALSE(one.may_try(begin + 1h));
  }
}

}  // namespace flow_lead_test
