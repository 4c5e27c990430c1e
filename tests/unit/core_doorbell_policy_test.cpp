// core_doorbell_policy_test: scripts of what happens to a relay, and what it does about it.
#include <doctest/doctest.h>

#include "doorbell_script.hpp"

using namespace outboxd;
using namespace outboxd::test;
using namespace std::chrono_literals;

namespace {

using state = doorbell_policy::state;
using script = doorbell_script;

}  // namespace

TEST_CASE("a relay that has just begun to listen sweeps until nobody is left who kept silent before it") {
  script one;
  one.policy.on_mute_up();
  CHECK(one.in() == state::cooling);
  CHECK(one.policy.on_listening(one.now) == nothing);
  CHECK(one.policy.sweep_by() == one.now);
  CHECK(one.policy.on_swept(not_over, one.now) == nothing);
  CHECK(one.in() == state::cooling);
  CHECK(one.policy.sweep_by() > one.now);
  CHECK(one.policy.on_swept({.work = true, .silence_is_over = true}, one.now) == look);
  CHECK(one.in() == state::sleeping);
  CHECK_FALSE(one.policy.owes());
}

TEST_CASE("a single event does not wake the relay up for good, nor do a few in a second") {
  script one;
  one.start();
  for (int i = 0; i < 50; ++i) {
    CHECK(one.policy.on_notified(1, one.now) == look);
    CHECK(one.policy.on_looked(1, false, one.now) == nothing);
    CHECK(one.policy.on_looked(0, false, one.now) == nothing);
    CHECK(one.in() == state::sleeping);
    CHECK(one.policy.next_look() == doorbell_policy::time_point::max());
    one.now += 20ms;
  }
}

TEST_CASE("a rush makes it hot, and it looks by itself until nothing has come for a while") {
  script one;
  one.start().get_hot();
  CHECK(one.policy.owes());
  for (int i = 0; i < 100; ++i) {
    CHECK(one.idle(10ms) == nothing);
    CHECK(one.policy.on_looked(1, false, one.now) == nothing);
    CHECK(one.in() == state::hot);
  }
  CHECK(one.idle(1s) == last_look_and_release);
  CHECK(one.in() == state::cooling);
  CHECK(one.policy.sweep_by() <= one.now);
  CHECK(one.policy.checks_silence());
  CHECK(one.policy.on_swept(over, one.now) == nothing);
  CHECK(one.in() == state::sleeping);
  CHECK_FALSE(one.policy.owes());
}

TEST_CASE("notifications that arrive together count each") {
  script one;
  one.start();
  CHECK(one.policy.on_notified(one.limits.busy, one.now) == look_and_ask);
}

TEST_CASE("fewer are enough while commits wait for each other's notifications") {
  script one;
  one.start();
  const int few = one.limits.busy_contended;
  REQUIRE(few < one.limits.busy);
  CHECK(one.policy.on_notified(few, one.now) == look);
  CHECK(one.policy.on_swept({.contended = true}, one.now) == nothing);
  one.now += one.limits.window;
  CHECK(one.policy.on_notified(few - 1, one.now) == look);
  CHECK(one.policy.on_notified(1, one.now) == look_and_ask);
}

TEST_CASE(
    "brisk notifications are worth a sweep at once, for those that wait for each other may never be many") {
  script one;
  one.start();
  const int brisk = one.limits.brisk;
  REQUIRE(brisk < one.limits.busy_contended);
  CHECK(one.policy.on_notified(brisk - 1, one.now) == look);
  CHECK(one.policy.sweep_by() == doorbell_policy::time_point::max());
  CHECK(one.policy.on_notified(1, one.now) == look);
  CHECK(one.policy.sweep_by() <= one.now);
  CHECK_FALSE(one.policy.checks_silence());
  CHECK(one.policy.on_swept({.contended = true}, one.now) == nothing);
  CHECK(one.policy.sweep_by() == doorbell_policy::time_point::max());
  CHECK(one.policy.on_notified(one.limits.busy_contended - brisk, one.now) == look_and_ask);
  CHECK(one.policy.sweep_by() == doorbell_policy::time_point::max());
}

TEST_CASE("a steady rate that was found to be harmless is not swept for again until it has doubled") {
  script one;
  one.start();
  int asked = 0;
  const auto steady = [&](int per_window) {
    for (int i = 0; i < 20 * per_window; ++i) {
      one.now += one.limits.window / per_window;
      CHECK(one.policy.on_notified(1, one.now) == look);
      if (one.policy.sweep_by() > one.now) continue;
      ++asked;
      CHECK(one.policy.on_swept(over, one.now) == nothing);
    }
  };
  steady(one.limits.brisk);
  CHECK(asked == 1);
  steady(one.limits.brisk + 2);
  CHECK(asked == 1);
  steady(3 * one.limits.brisk);
  CHECK(asked == 2);
}

TEST_CASE("contention is forgotten after a while") {
  script one;
  one.start();
  CHECK(one.policy.on_swept({.contended = true}, one.now) == nothing);
  one.now += one.limits.contention_lasts;
  CHECK(one.policy.on_notified(one.limits.busy_contended, one.now) == look);
}

TEST_CASE("looks that keep finding something count like notifications") {
  script one;
  one.start();
  for (int i = 1; i < one.limits.busy; ++i) CHECK(one.policy.on_looked(1, false, one.now) == nothing);
  CHECK(one.policy.on_looked(1, false, one.now) == ask);
}

TEST_CASE("the pause between looks that find nothing grows with the time that they have found nothing") {
  script one;
  one.limits.quiet = 10min;
  one.limits.patience = 10min;
  one.policy = doorbell_policy(one.limits);
  one.start().get_hot();
  const auto begin = one.now;
  auto last = begin;
  for (int i = 0; i < 200; ++i) {
    one.now = one.policy.next_look();
    const auto pause = one.now - last;
    CHECK(pause >= one.limits.shortest);
    CHECK(pause <=
          std::max<std::chrono::nanoseconds>(one.limits.shortest, (last - begin) / one.limits.share));
    CHECK(pause <= one.limits.longest);
    CHECK(one.policy.on_timer(one.now) == look);
    CHECK(one.policy.on_looked(0, false, one.now) == nothing);
    last = one.now;
  }
  CHECK(last - begin > 1min);
  CHECK(one.policy.on_looked(1, false, one.now) == nothing);
  CHECK(one.policy.next_look() == one.now + one.limits.shortest);
}

TEST_CASE(
    "in a rush the pause after a find grows with the events, but is not much longer than a batch takes") {
  const auto pause_at = [](int per_millisecond, std::chrono::milliseconds batch_takes) {
    script one;
    one.start().get_hot();
    for (int i = 0; i < 400; ++i) {
      const auto pause = std::chrono::ceil<std::chrono::milliseconds>(one.policy.next_look() - one.now);
      one.now = one.policy.next_look();
      CHECK(one.policy.on_timer(one.now) == look);
      CHECK(one.policy.on_looked(per_millisecond * static_cast<int>(pause.count()), false, one.now) ==
            nothing);
      one.policy.on_marked(batch_takes);
    }
    return one.policy.next_look() - one.now;
  };
  const doorbell_limits limits;
  CHECK(pause_at(1, 1s) == limits.shortest);  // a thousand a second are no rush
  CHECK(pause_at(3, 1s) > 10ms);
  CHECK(pause_at(3, 1s) < limits.steady);
  CHECK(pause_at(20, 1s) == limits.steady);
  CHECK(pause_at(20, 4ms) > 4ms);
  CHECK(pause_at(20, 4ms) < 8ms);
  CHECK(pause_at(20, 0ms) == limits.shortest);
}

TEST_CASE("a few batches that take long are no reason for long pauses") {
  script one;
  one.start().get_hot();
  for (int i = 0; i < 400; ++i) {
    one.now = one.policy.next_look();
    CHECK(one.policy.on_timer(one.now) == look);
    CHECK(one.policy.on_looked(100, false, one.now) == nothing);
    one.policy.on_marked(i % 4 == 0 ? 100ms : 3ms);
    CHECK(one.policy.next_look() - one.now < one.limits.steady / 3);
  }
}

TEST_CASE("a look that is not answered is not followed by the next one at once") {
  script one;
  one.start().get_hot();
  one.now = one.policy.next_look();
  CHECK(one.policy.on_timer(one.now) == look);
  CHECK(one.policy.next_look() >= one.now + one.limits.quiet);
  CHECK(one.policy.on_timer(one.now + 1ms) == nothing);
}

TEST_CASE("while no look can be answered the writers keep silent for as long as the patience lasts") {
  script one;
  one.start().get_hot();
  CHECK(one.idle(one.limits.patience / 2, false) == nothing);
  CHECK(one.in() == state::hot);
  CHECK(one.looks <= 60);
  CHECK(one.idle(one.limits.patience, false) == last_look_and_release);
  CHECK(one.in() == state::cooling);
}

TEST_CASE(
    "another session listens while it looks by itself: it owes a last look, whatever becomes of its "
    "question") {
  script one;
  one.start();
  one.policy.on_swept(unannounced, one.now);
  CHECK(one.in() == state::alert);
  CHECK(one.policy.on_listening(one.now) == nothing);
  CHECK(one.in() == state::alert);
  CHECK(one.policy.owes());
  CHECK(one.idle(1s) == last_look);
  CHECK(one.policy.on_swept(over, one.now) == nothing);
  one.rush();
  CHECK(one.policy.on_listening(one.now) == nothing);
  CHECK(one.policy.on_refused(one.now) == nothing);
  CHECK(one.idle(1s) == last_look);
  CHECK(one.in() == state::cooling);
}

TEST_CASE("the listening session is lost: asleep or cooling it begins anew, awake it goes on") {
  script one;
  one.start();
  CHECK(one.policy.on_listening(one.now) == nothing);
  CHECK(one.in() == state::cooling);
  CHECK(one.policy.on_listening(one.now) == nothing);
  CHECK(one.in() == state::cooling);
  one.rush();
  CHECK(one.policy.on_listening(one.now) == nothing);
  CHECK(one.in() == state::asking);
  one.policy.on_granted(one.now);
  CHECK(one.policy.on_listening(one.now) == nothing);
  CHECK(one.in() == state::hot);
}

TEST_CASE("a writer who keeps silent for an hour costs a sweep at each interval and delays nobody else") {
  script one;
  one.start().get_hot();
  CHECK(one.idle(1s) == last_look_and_release);
  const auto begin = one.now;
  int sweeps = 0;
  while (one.now < begin + 1h) {
    one.now = one.policy.sweep_by();
    CHECK(one.policy.checks_silence());
    CHECK(one.policy.on_swept(not_over, one.now) == nothing);
    CHECK(one.policy.sweep_by() <= one.now + one.limits.longest);
    ++sweeps;
    if (sweeps % 20 == 0) CHECK(one.policy.on_notified(1, one.now) == look);
  }
  CHECK(sweeps < 3700);
  CHECK(one.policy.on_swept(over, one.now) == nothing);
  CHECK(one.in() == state::sleeping);
}

TEST_CASE("a rush while it cools makes it hot again") {
  script one;
  one.start().get_hot();
  CHECK(one.idle(1s) == last_look_and_release);
  CHECK(one.policy.on_swept(not_over, one.now) == nothing);
  one.now += 1s;
  one.get_hot();
}

TEST_CASE(
    "a sweep that finds what nobody has announced has it look by itself, until there is nothing for a "
    "while") {
  script one;
  one.start();
  CHECK(one.policy.on_swept({.work = true}, one.now) == look);  // it has just become due
  CHECK(one.in() == state::sleeping);
  CHECK(one.policy.on_swept(unannounced, one.now) == look);
  CHECK(one.in() == state::alert);
  CHECK(one.idle(1s) == last_look);
  CHECK(one.in() == state::sleeping);
  CHECK_FALSE(one.policy.owes());
}

TEST_CASE("while rings come, what a sweep finds unannounced is only just being announced") {
  script one;
  one.start();
  for (int i = 0; i < 10; ++i) {
    CHECK(one.policy.on_notified(1, one.now) == look);
    CHECK(one.policy.on_swept(unannounced, one.now) == look);
    CHECK(one.in() == state::sleeping);
    one.now += one.limits.window;
  }
  one.now += 2 * one.limits.window;
  CHECK(one.policy.on_swept(unannounced, one.now) == look);
  CHECK(one.in() == state::alert);
}

TEST_CASE("to find nothing while other lanes hold the shards does not end the silence") {
  script one;
  one.start().get_hot();
  const auto begin = one.now;
  const auto look_beside_others = [&] {
    one.now = one.policy.next_look();
    CHECK(one.policy.on_timer(one.now) == look);
    return one.policy.on_looked(0, true, one.now);
  };
  while (one.now < begin + one.limits.quiet_beside_others / 2) CHECK(look_beside_others() == nothing);
  CHECK(one.in() == state::hot);
  SUBCASE("but when they are through it does") {
    one.now = one.policy.next_look();
    CHECK(one.policy.on_timer(one.now) == look);
    CHECK(one.policy.on_looked(0, false, one.now) == last_look_and_release);
  }
  SUBCASE("not for ever: a lane may be stuck") {
    auto last = nothing;
    while (one.in() == state::hot) last = look_beside_others();
    CHECK(last == last_look_and_release);
    CHECK(one.now >= begin + one.limits.quiet_beside_others);
    CHECK(one.now < begin + 2 * one.limits.quiet_beside_others);
  }
}

TEST_CASE("a sweep that takes longer than a window does not ask for the next one at once") {
  script one;
  one.start();
  for (int i = 0; i < 5; ++i) {
    CHECK(one.policy.on_notified(2 * one.limits.brisk, one.now) == look);
    CHECK((one.policy.sweep_by() <= one.now) == (i == 0));
    one.now += 3 * one.limits.window;
    if (i == 0) CHECK(one.policy.on_swept(over, one.now) == nothing);
  }
}

TEST_CASE("one that cools and finds what nobody has announced joins the relay that has them keep silent") {
  script one;
  one.start().get_hot();
  CHECK(one.idle(1s) == last_look_and_release);
  CHECK(one.policy.on_swept(unannounced, one.now) == look);
  CHECK(one.in() == state::alert);
  CHECK(one.idle(1s) == last_look);
  CHECK(one.in() == state::cooling);
}

TEST_CASE(
    "without the trigger, or deaf, it looks less and less often down to the sweep, and anew after a find") {
  for (const bool deaf : {false, true}) {
    script one;
    one.policy.set_trigger(deaf);
    one.policy.set_hears(!deaf);
    one.start();
    CHECK(one.in() == state::alert);
    CHECK(one.idle(2 * one.limits.longest * one.limits.share) == last_look);
    CHECK(one.in() == state::sleeping);
    CHECK(one.looks < 80);
    CHECK(one.policy.on_swept(unannounced, one.now) == look);
    CHECK(one.in() == state::alert);
    CHECK(one.policy.next_look() == one.now + one.limits.shortest);
  }
}

TEST_CASE("without the trigger nobody is asked to keep silent") {
  script one;
  one.policy.set_trigger(false);
  one.start();
  for (int i = 0; i < 100; ++i) CHECK(one.policy.on_looked(1, false, one.now) == nothing);
  CHECK(one.policy.on_notified(100, one.now) == look);
}

TEST_CASE("a flood of notifications is one question, and a look for each time they are read") {
  script one;
  one.start();
  CHECK(one.policy.on_notified(100'000, one.now) == look_and_ask);
  CHECK(one.policy.on_notified(100'000, one.now) == look);
  CHECK(one.policy.on_granted(one.now) == nothing);
  CHECK(one.policy.on_notified(100'000, one.now) == look);
  CHECK(one.idle(1s) == last_look_and_release);
}
