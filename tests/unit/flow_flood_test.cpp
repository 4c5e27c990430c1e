// flow_flood_test: what is too many notifications, how many are heard of a flood, and whose they are.
#include "flow/lead/flood.hpp"

#include <doctest/doctest.h>

namespace flow_flood_test {

using namespace outboxd::flow;
using namespace std::chrono_literals;

namespace {

constexpr clock::time_point begin{1h};

// Five seconds without listening, which begin with 5,000 notifications.
clock::time_point one_flood(flood& of, clock::time_point now, int sender) {
  of.add(sender, 5'000, now);
  REQUIRE(of.begins(now));
  REQUIRE(of.ends(now + 5s));
  return now + 5s;
}

}  // namespace

TEST_CASE("5,000 notifications within five seconds are a flood, and nobody listens for five seconds") {
  flood of;
  of.add(7, 2'000, begin);
  of.add(8, 2'999, begin + 4s);
  CHECK_FALSE(of.begins(begin + 4s));
  CHECK(of.next() == clock::time_point::max());
  of.add(7, 1, begin + 5s - 1ms);
  CHECK(of.begins(begin + 5s - 1ms));
  CHECK(of.lasts());
  CHECK(of.next() == begin + 10s - 1ms);
  of.add(7, 9'999, begin + 6s);  // was on its way
  CHECK_FALSE(of.begins(begin + 6s));
  CHECK_FALSE(of.ends(begin + 10s - 2ms));
  CHECK(of.ends(begin + 10s - 1ms));
  CHECK_FALSE(of.lasts());
  CHECK_FALSE(of.begins(begin + 10s));
}

TEST_CASE("what the writers of a busy outbox send is no flood, however long it goes on") {
  flood of;
  for (auto now = begin; now < begin + 1h; now += 100ms) {
    of.add(7, 99, now);
    REQUIRE_FALSE(of.begins(now));
  }
}

TEST_CASE(
    "of a flood that goes on no more than 1,000 a second are heard, and its sender is known while it lasts") {
  flood of;
  int heard = 0;
  const auto end = begin + 10min;
  for (auto now = begin; now < end; now += 1ms) {
    of.ends(now);
    if (of.lasts()) continue;
    heard += 100;
    of.add(7, 95, now);
    of.add(8, 5, now);
    if (of.begins(now)) CHECK(of.loudest(now) == (now < begin + 5s ? 0 : 7));
  }
  CHECK(heard <= 600'000);
  CHECK(of.loudest(end) == 7);
  of.ends(end + 5s);
  CHECK(of.loudest(end + 10s - 1ms) == 7);
  CHECK(of.loudest(end + 10s) == 0);
}

TEST_CASE("who stops while nobody listens is not named, nor are many who send a little each") {
  flood of;
  auto now = one_flood(of, begin, 7);
  CHECK(of.loudest(now) == 0);
  now = one_flood(of, now + 5s, 7);
  CHECK(of.loudest(now) == 0);
  for (int sender = 1; sender <= 5; ++sender) of.add(sender, 1'000, now);
  CHECK(of.begins(now));
  CHECK(of.loudest(now) == 0);
  REQUIRE(of.ends(now += 5s));
  constexpr int many = -1;
  now = one_flood(of, now, many);
  CHECK(of.loudest(now) == 0);
  now = one_flood(of, now, 7);
  CHECK(of.loudest(now) == 7);
}

TEST_CASE("each session that is lost in a flood has the next one listen later, up to five minutes") {
  flood of;
  auto now = begin;
  for (const auto deaf : {5s, 10s, 20s, 40s, 80s, 160s, 300s, 300s}) {
    of.add(7, 5'000, now);
    if (deaf == 20s) REQUIRE(of.begins(now));  // it has yet to be told not to send more
    of.add(7, 5'000, now);
    of.on_lost(now);
    CHECK(of.lasts());
    CHECK(of.next() == now + deaf);
    REQUIRE(of.ends(now += deaf));
    now += 1s;
  }
  CHECK(of.loudest(now) == 7);
  now += 5s;
  of.add(7, 5'000, now);
  of.on_lost(now);
  CHECK(of.next() == now + 5s);
}

TEST_CASE("a session that is lost without a flood says nothing of one") {
  flood of;
  of.add(7, 4'999, begin);
  of.on_lost(begin);
  CHECK_FALSE(of.lasts());
  of.add(7, 1, begin);
  REQUIRE(of.begins(begin));
  of.on_lost(begin + 1s);
  CHECK(of.next() == begin + 5s);
}

}  // namespace flow_flood_test
