// flow_leadership_test: when a relay takes a lead, makes way for others, and leads on.
#include "flow/lead/leadership.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace flow_leadership_test {

using namespace outboxd::flow;
using namespace std::chrono_literals;

namespace {

using action = leadership::action;
using state = leadership::state;

constexpr clock::time_point begin{1h};

// Its session is open; it takes the lead if it stands by, and keeps it.
void lead(leadership& it, clock::time_point now) {
  it.on_session();
  it.on_taken();
  it.on_loaded(now);
}

// Asked for a lead that it takes: whether it gives that back.
bool gives_back(leadership& it, clock::time_point now) {
  it.on_taken();
  const bool out = it.on_looked(true, now);
  if (out) it.on_given_up(now);
  return out;
}

// A lead that was just taken.
struct taken {
  leadership it;
  clock::time_point now = begin;
  bool too_many = false;
  bool meets_lock = false;

  taken() { lead(it, now); }
  action step() { return it.step(too_many, meets_lock, now); }
  action after(clock::duration more) {
    now += more;
    return step();
  }
};

}  // namespace

TEST_CASE(
    "who gives a lead up in order leaves it to others for a second, and one whose session ended tries at "
    "once") {
  leadership one;
  CHECK_FALSE(one.may_try(begin));
  one.on_session();
  CHECK(one.may_try(begin));
  lead(one, begin);
  CHECK(one.now_in() == state::leading);
  CHECK_FALSE(one.may_try(begin));
  one.on_lost();
  CHECK(one.now_in() == state::away);
  one.on_session();
  CHECK(one.may_try(begin));
  lead(one, begin);
  one.on_given_up(begin);
  CHECK_FALSE(one.may_try(begin + 999ms));
  CHECK(one.may_try(begin + 1s));
}

TEST_CASE("without a broker a leader counts the others after a second, and not before, however it turns") {
  taken of;
  of.it.on_broker(true, of.now);
  of.now += 10s;
  of.it.on_looked(false, of.now + 100s);  // out of the way here
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
    CHECK(of.after(1ms) == action::go_on);
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
    CHECK(of.after(1s) == action::go_on);
    of.now += 5s;
  }
}

TEST_CASE("who may have the lead gets it at once, and whoever takes it gives it back for three seconds") {
  taken of;
  CHECK(of.it.on_looked(true, of.now));
  CHECK(of.step() == action::drain);
  of.it.on_given_up(of.now += 100ms);
  for (of.now = begin + 200ms; of.now < begin + 3s; of.now += 100ms) CHECK(gives_back(of.it, of.now));
  CHECK(of.it.now_in() == state::standing_by);
  CHECK_FALSE(gives_back(of.it, begin + 3s));
  of.it.on_loaded(of.now = begin + 3s);
  CHECK(of.it.next(false) == begin + 8s);
  of.it.hear_request(of.now);
  for (of.now = begin + 4s; of.now < begin + 8s; of.now += 100ms) {
    CHECK_FALSE(of.it.on_looked(true, of.now));
    CHECK(of.step() == action::none);
    CHECK(of.it.next(false) == begin + 8s);
  }
  CHECK(of.it.on_looked(true, begin + 8s));
  CHECK(of.it.now_in() == state::making_way);
}

TEST_CASE("when nobody asks any more the lead is taken, and not given up again for five seconds") {
  taken of;
  of.it.on_looked(true, of.now);
  of.it.on_given_up(of.now += 100ms);
  of.now = begin + 1s;
  of.it.on_taken();
  CHECK_FALSE(of.it.on_looked(false, of.now));
  of.it.on_loaded(of.now);
  CHECK_FALSE(of.it.on_looked(true, begin + 1s + 1ms));
  CHECK_FALSE(of.it.on_looked(true, begin + 6s - 1ms));
  CHECK(of.it.on_looked(true, begin + 6s));
}

TEST_CASE("who asks finds all leads free at once, however long each takes to come to rest") {
  struct one {
    leadership it;
    clock::time_point rests{}, free_from{}, taken_again{};
  };
  std::vector<one> all(10);
  clock::duration until_rest = 0ms;
  for (one& each : all) {
    lead(each.it, begin);
    each.rests = begin + (until_rest += 90ms);
  }
  for (auto now = begin; now < begin + 10s; now += 10ms)
    for (one& each : all) {
      if (each.it.may_try(now)) {
        if (!gives_back(each.it, now)) each.it.on_loaded(each.taken_again = now);
      } else if (now == begin) {
        each.it.on_looked(true, now);
      } else if (now == each.rests) {
        REQUIRE(each.it.step(false, false, now) == action::drain);
        each.it.on_given_up(each.free_from = now);
      }
      if (each.taken_again != clock::time_point{}) each.rests = {};
    }
  for (const one& each : all) {
    CHECK(each.free_from <= begin + 900ms);
    CHECK(each.taken_again >= begin + 3s);
    CHECK(each.taken_again <= begin + 4s);
  }
}

TEST_CASE("who asks for ever, and hangs, stops nobody for longer than four seconds, and then not for five") {
  taken of;
  auto led_until = begin, led_from = begin;
  const auto end = begin + 1min;
  for (; of.now < end; of.now += 10ms) {
    if (of.it.may_try(of.now)) {
      if (gives_back(of.it, of.now)) continue;
      CHECK(of.now - led_until <= 4s);
      of.it.on_loaded(led_from = of.now);
    } else if (of.it.wants_look(of.now)) {
      of.it.on_looked(true, of.now);
      if (of.it.now_in() != state::making_way) continue;
      if (led_from != begin) CHECK(of.now - led_from >= 4s);
      of.it.on_given_up(led_until = of.now);
    }
  }
  CHECK(led_until > begin + 40s);
}

TEST_CASE("who does not come to rest in time leads on, and makes way when the next request is due") {
  taken of;
  of.it.on_looked(true, of.now);
  CHECK(of.step() == action::drain);
  CHECK(of.after(1s) == action::go_on);
  for (of.now += 100ms; of.now < begin + 8s; of.now += 100ms) {
    CHECK_FALSE(of.it.on_looked(true, of.now));
    CHECK(of.it.next(false) <= begin + 8s);
    CHECK(of.step() == action::none);
  }
  CHECK(of.it.on_looked(true, begin + 8s));
  CHECK(of.step() == action::drain);
}

TEST_CASE(
    "a word that asks for the lead makes it look once in a second, however often it is said, and no more") {
  taken of;
  of.it.on_looked(false, of.now);
  int looks = 0;
  for (int said = 0; said < 10'000; ++said) {
    of.it.hear_request(of.now += 1ms);
    CHECK(of.it.next(false) <= begin + 1s * (looks + 1));
    if (!of.it.wants_look(of.now)) continue;
    ++looks;
    of.it.on_looked(false, of.now);
    REQUIRE(of.step() == action::none);
  }
  CHECK(looks == 10);
}

TEST_CASE("without a word it looks every five seconds") {
  taken of;
  of.it.on_looked(false, of.now);
  CHECK(of.it.next(false) == begin + 5s);
  CHECK_FALSE(of.it.wants_look(begin + 5s - 1ms));
  CHECK(of.it.wants_look(begin + 5s));
}

TEST_CASE("a new lead knows nothing of the drains of the former one") {
  taken of;
  of.too_many = true;
  of.step();
  of.after(1s);
  of.it.on_lost();
  lead(of.it, of.now);
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
  of.it.on_looked(true, of.now);
  CHECK(of.it.leaving());
  of.it.on_lost();
  of.it.on_session();
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
  of.it.on_given_up(of.now);
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
    CHECK(of.after(1ms) == (others == 1 ? action::give_up : action::go_on));
  }
}

TEST_CASE("a stop is for good, whatever comes before or after it") {
  for (const auto before :
       {state::away, state::standing_by, state::taking, state::leading, state::making_way, state::leaving}) {
    CAPTURE(static_cast<int>(before));
    leadership one;
    if (before != state::away) one.on_session();
    if (before == state::taking) one.on_taken();
    if (before > state::taking) lead(one, begin);
    if (before == state::making_way) one.on_looked(true, begin);
    if (before == state::leaving) one.leave();
    REQUIRE(one.now_in() == before);
    const bool led = one.has_lead();
    one.stop();
    CHECK(one.now_in() == (led ? state::stopping : state::stopped));
    lead(one, begin);  // a try may have been under way
    one.leave();
    one.on_looked(true, begin);
    CHECK(one.now_in() == state::stopping);
    CHECK(one.step(false, false, begin + 1h) == action::drain);
    CHECK_FALSE(one.wants_count(begin + 1h));
    one.on_given_up(begin);
    one.on_session();
    CHECK(one.now_in() == state::stopped);
    one.on_lost();
    CHECK(one.stopping());
    CHECK_FALSE(one.may_try(begin + 1h));
  }
}

}  // namespace flow_leadership_test
