// flow_doorbell_test: when the leader of a shard polls, when it asks for SLEEP, and when it wakes up.
#include "flow/lead/doorbell.hpp"

#include <doctest/doctest.h>

namespace flow_doorbell_test {

using namespace outboxd::flow;
using namespace std::chrono_literals;

namespace {

using state = doorbell::state;
using action = doorbell::action;
using obstacle = doorbell::obstacle;

// A doorbell with a clock, and the reads that its owner would make.
class bell {
 public:
  explicit bell(const doorbell_limits& limits = {}) : it(limits) { it.start(now); }

  void wait(std::chrono::milliseconds time) { now += time; }
  void read(std::size_t found, bool complete = true) {
    it.on_read_sent();
    it.on_read(found, complete, now);
  }
  // Polls when it wants to, and finds nothing.
  void poll_for(std::chrono::milliseconds time) {
    for (const auto end = now + time; it.next_poll() <= end;) {
      now = std::max(now, it.next_poll());
      it.on_poll();
      read(0);
    }
  }
  void fall_asleep() {
    poll_for(300ms);
    REQUIRE(it.take_action(now) == action::ask);
    it.on_granted(now);
    read(0);
    REQUIRE(it.now_in() == state::asleep);
  }
  void ring(int times) {
    it.on_notified(times, now);
    read(static_cast<std::size_t>(times));
  }

  clock::time_point now{1h};
  doorbell it;
};

}  // namespace

TEST_CASE("a leader starts awake and polls at once") {
  const bell one;
  CHECK(one.it.now_in() == state::awake);
  CHECK(one.it.next_poll() <= one.now);
}

TEST_CASE("the next poll follows soon after a find, and later the longer nothing is found") {
  bell one;
  one.read(3);
  CHECK(one.it.next_poll() - one.now == 1ms);
  one.wait(80ms);
  one.read(0);
  CHECK(one.it.next_poll() - one.now == 10ms);
}

TEST_CASE("a leader that finds nothing for a quarter of a second asks for SLEEP and goes on polling") {
  bell one;
  one.poll_for(240ms);
  CHECK(one.it.take_action(one.now) == action::none);
  one.poll_for(60ms);
  CHECK(one.it.take_action(one.now) == action::ask);
  CHECK(one.it.now_in() == state::requesting);
  CHECK(one.it.next_poll() < one.now + 1s);
  CHECK(one.it.take_action(one.now) == action::none);  // once
}

TEST_CASE("with SLEEP granted it reads once more before it is asleep") {
  bell one;
  one.poll_for(300ms);
  one.it.on_granted(one.now);
  CHECK(one.it.now_in() == state::granted);
  CHECK(one.it.next_poll() <= one.now);
  one.read(2);
  CHECK(one.it.now_in() == state::asleep);
  CHECK(one.it.next_poll() == clock::time_point::max());
}

TEST_CASE("a read that was sent before SLEEP was granted is not the one more") {
  bell one;
  one.poll_for(300ms);
  one.it.on_read_sent();
  one.it.on_granted(one.now);
  one.it.on_read(0, true, one.now);
  CHECK(one.it.now_in() == state::granted);
  one.read(0);
  CHECK(one.it.now_in() == state::asleep);
}

TEST_CASE("nobody sleeps on a read that did not see everything") {
  bell one;
  one.poll_for(300ms);
  one.it.on_granted(one.now);
  one.read(10, false);
  CHECK(one.it.now_in() == state::last_read);
  one.read(0, true);
  CHECK(one.it.now_in() == state::asleep);
}

TEST_CASE("one more read counts for its own grant alone") {
  bell one;
  one.fall_asleep();
  one.it.on_notified(1000, one.now);
  REQUIRE(one.it.now_in() == state::awake);
  REQUIRE(one.it.take_action(one.now) == action::unlock);
  one.poll_for(300ms);
  REQUIRE(one.it.take_action(one.now) == action::ask);
  one.it.on_granted(one.now);
  CHECK(one.it.now_in() == state::granted);
  one.it.on_read(0, true, one.now);  // of a read from before
  CHECK(one.it.now_in() == state::granted);
}

TEST_CASE("asleep, a few notifications are answered by a read each") {
  bell one;
  one.fall_asleep();
  for (int i = 0; i < 30; ++i) {
    one.wait(10ms);
    one.ring(1);
  }
  CHECK(one.it.now_in() == state::asleep);
  CHECK(one.it.take_action(one.now) != action::unlock);
}

TEST_CASE("many notifications in a short time wake it up, and it gives SLEEP back") {
  bell one;
  one.fall_asleep();
  one.ring(60);
  CHECK(one.it.now_in() == state::awake);
  CHECK(one.it.take_action(one.now) == action::unlock);
  CHECK(one.it.next_poll() - one.now <= 1ms);
}

TEST_CASE("awake, rings bring the next poll forward, and never make more than one in ten milliseconds") {
  bell one;
  one.it.set(obstacle::deaf, true, one.now);
  one.poll_for(3s);
  REQUIRE(one.it.next_poll() > one.now + 10ms);
  int reads = 0;
  for (const auto end = one.now + 1s; one.now < end; one.now += 100us) {
    CHECK_FALSE(one.it.on_notified(10, one.now));
    if (one.it.next_poll() > one.now) continue;
    ++reads;
    one.it.on_poll();
    one.read(0);
    CHECK(one.it.next_poll() > one.now);
  }
  CHECK(reads <= 100);
  CHECK(reads >= 90);
}

TEST_CASE("a ring that comes while a read is under way asks for another one") {
  bell one;
  one.it.set(obstacle::deaf, true, one.now);
  one.poll_for(3s);
  one.it.on_poll();
  one.it.on_read_sent();
  one.it.on_notified(1, one.now);
  one.it.on_read(0, true, one.now);
  CHECK(one.it.next_poll() == one.now + 10ms);
}

TEST_CASE("where commits wait for each other's notifications, fewer wake it up") {
  bell one;
  one.fall_asleep();
  one.ring(6);
  CHECK(one.it.take_action(one.now) == action::probe);
  CHECK(one.it.take_action(one.now) == action::none);  // at most once a second
  one.it.on_contention(one.now);
  one.ring(6);
  CHECK(one.it.now_in() == state::awake);
}

TEST_CASE("at half of the rate that would wake it up it falls asleep, above that it stays awake") {
  for (const std::size_t at_once : {2, 3}) {
    CAPTURE(at_once);
    bell one;
    one.fall_asleep();
    one.ring(60);
    REQUIRE(one.it.take_action(one.now) == action::unlock);
    for (int i = 0; i < 100; ++i) {
      one.wait(10ms);
      one.read(at_once);
    }
    CHECK(one.it.now_in() == (at_once == 2 ? state::requesting : state::awake));
  }
}

TEST_CASE("woken up, it is awake for a quarter of a second at least") {
  bell one;
  one.fall_asleep();
  one.it.on_notified(60, one.now);
  REQUIRE(one.it.take_action(one.now) == action::unlock);
  one.poll_for(240ms);
  CHECK(one.it.now_in() == state::awake);
  one.poll_for(60ms);
  CHECK(one.it.now_in() == state::requesting);
}

TEST_CASE("where commits wait for each other's notifications, it stays awake at a lower rate") {
  bell one;
  one.fall_asleep();
  one.ring(6);
  one.it.on_contention(one.now);
  one.ring(6);
  REQUIRE(one.it.now_in() == state::awake);
  const auto read_for = [&](std::chrono::milliseconds time) {
    for (const auto end = one.now + time; one.now < end;) {
      one.wait(10ms);
      one.read(1);
    }
  };
  read_for(59s);
  CHECK(one.it.now_in() == state::awake);
  read_for(2s);
  CHECK(one.it.now_in() == state::requesting);
}

TEST_CASE("where other shards have many events, whose writers would ring for all, it stays awake") {
  bell one;
  const auto read_for = [&](std::chrono::milliseconds time, std::size_t of_all) {
    for (const auto end = one.now + time; one.now < end;) {
      one.wait(10ms);
      one.it.on_read_sent();
      one.it.on_read(0, true, one.now, of_all);
    }
  };
  read_for(10s, 10);
  CHECK(one.it.now_in() == state::awake);
  read_for(1s, 1);
  CHECK(one.it.now_in() == state::requesting);
}

TEST_CASE("an obstacle keeps it awake, and wakes it up") {
  for (const auto what : {obstacle::no_lock_session, obstacle::deaf, obstacle::no_bell, obstacle::no_reads}) {
    bell one;
    one.it.set(what, true, one.now);
    one.poll_for(2s);
    CHECK(one.it.now_in() == state::awake);
    CHECK(one.it.take_action(one.now) == action::none);
    one.it.set(what, false, one.now);
    one.fall_asleep();
    one.it.set(what, true, one.now);
    CHECK(one.it.now_in() == state::awake);
    // A lock that has gone with its session cannot be given back.
    CHECK(one.it.take_action(one.now) == (what == obstacle::no_lock_session ? action::none : action::unlock));
  }
}

TEST_CASE("refused, it lets writers be silent for a quarter of a second before it asks again") {
  for (const std::size_t found : {2, 3}) {
    CAPTURE(found);
    bell one;
    one.poll_for(300ms);
    REQUIRE(one.it.take_action(one.now) == action::ask);
    one.it.on_refused(one.now);
    for (int i = 0; i < 24; ++i) {
      one.wait(10ms);
      one.read(found);
    }
    CHECK(one.it.now_in() == state::awake);
    CHECK(one.it.take_action(one.now) == action::none);
    one.wait(10ms);
    one.read(found);
    CHECK(one.it.now_in() == (found == 2 ? state::requesting : state::awake));
  }
}

TEST_CASE("SLEEP that is granted to a leader that does not want it any more is given back") {
  bell one;
  one.poll_for(300ms);
  REQUIRE(one.it.take_action(one.now) == action::ask);
  one.it.on_refused(one.now);
  one.it.on_granted(one.now);
  CHECK(one.it.now_in() == state::awake);
  CHECK(one.it.take_action(one.now) == action::unlock);
}

TEST_CASE(
    "while the queue of notifications fills a leader does not fall asleep, and one that sleeps wakes up") {
  bell one;
  one.fall_asleep();
  one.it.set(obstacle::queue_fills, true, one.now);
  CHECK(one.it.now_in() == state::awake);
  CHECK(one.it.take_action(one.now) == action::unlock);
  one.poll_for(5s);
  CHECK(one.it.take_action(one.now) == action::none);
  one.it.set(obstacle::queue_fills, false, one.now);
  one.poll_for(2s);
  CHECK(one.it.take_action(one.now) == action::ask);
}

}  // namespace flow_doorbell_test
