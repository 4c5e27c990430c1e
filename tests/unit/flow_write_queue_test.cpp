// flow_write_queue_test: groups that are gathered, taken apart and tried again.
#include "flow/stream/write_queue.hpp"

#include <doctest/doctest.h>

namespace flow_write_queue_test {

using namespace outboxd::flow;
using namespace std::chrono_literals;

namespace {

const clock::time_point start{1h};
using slots = std::vector<slot>;

}  // namespace

TEST_CASE("what is to be written lingers until there is enough of it, or it is old enough") {
  write_queue queue({.enough = 3, .linger = 5ms});
  CHECK_FALSE(queue.due());
  queue.add(1, start);
  queue.add(2, start + 1ms);
  CHECK(queue.due() == start + 5ms);
  CHECK(queue.begin(start + 4ms) == nullptr);
  queue.add(3, start + 4ms);
  CHECK(*queue.due() <= start + 4ms);
  const auto* group = queue.begin(start + 4ms);
  REQUIRE(group != nullptr);
  CHECK(group->slots == slots{1, 2, 3});
  CHECK(group->mode == mark_mode::by_place);
  CHECK_FALSE(queue.due());
  CHECK(queue.begin(start + 1s) == nullptr);
  CHECK(queue.end(write_result::done, {}, start + 5ms) == slots{1, 2, 3});
  CHECK(queue.idle());
}

TEST_CASE("who is in a hurry does not linger") {
  write_queue queue({.enough = 3, .linger = 5ms});
  queue.add(1, start);
  CHECK(queue.begin(start) == nullptr);
  REQUIRE(queue.begin(start, true) != nullptr);
}

TEST_CASE("a group is no larger than what fits") {
  write_queue queue({.enough = 1, .linger = 0us, .most = 2});
  for (slot one = 1; one <= 3; ++one) queue.add(one, start);
  CHECK(queue.begin(start)->slots == slots{1, 2});
  CHECK(queue.end(write_result::done, {}, start) == slots{1, 2});
  CHECK(queue.fresh() == slots{3});
  CHECK(queue.begin_fitting(start, 0) == nullptr);
  CHECK(queue.begin_fitting(start, 1)->slots == slots{3});
}

TEST_CASE("rows that have moved are looked for by key, at once") {
  write_queue queue({});
  queue.add(1, start);
  queue.begin(start);
  CHECK(queue.end(write_result::missed, {}, start).empty());
  CHECK_FALSE(queue.idle());
  const auto* again = queue.begin(start);
  REQUIRE(again != nullptr);
  CHECK(again->mode == mark_mode::by_key);
  CHECK(again->slots == slots{1});
}

TEST_CASE(
    "what a lock keeps from being written is tried again without those that are locked, with pauses, and "
    "nobody waits for it") {
  write_queue queue({});
  queue.add(1, start);
  queue.add(2, start);
  queue.begin(start);
  CHECK(queue.end(write_result::deferred, {}, start).empty());
  CHECK(queue.begin(start + 19ms) == nullptr);
  queue.add(3, start + 19ms);
  CHECK(queue.begin(start + 19ms)->slots == slots{3});
  queue.end(write_result::done, {}, start + 19ms);
  const auto* again = queue.begin(start + 20ms);
  REQUIRE(again != nullptr);
  CHECK(again->mode == mark_mode::unlocked);
  CHECK(queue.end(write_result::done, slots{2}, start + 20ms) == slots{1});
  CHECK(queue.due() == start + 60ms);  // the pause has doubled
  queue.begin(start + 60ms);
  CHECK(queue.end(write_result::done, {}, start + 60ms) == slots{2});
  CHECK(queue.idle());
}

TEST_CASE("a group that is refused is halved until the row that will not be written is alone") {
  write_queue queue({});
  const slot bad = 5;
  for (slot one = 0; one < 8; ++one) queue.add(one, start);
  slots written;
  int statements = 0;
  while (const auto* group = queue.begin(start)) {
    ++statements;
    const bool refused = std::find(group->slots.begin(), group->slots.end(), bad) != group->slots.end();
    const auto done = queue.end(refused ? write_result::refused : write_result::done, {}, start);
    written.insert(written.end(), done.begin(), done.end());
    if (queue.stuck()) CHECK(*queue.stuck() == bad);
  }
  std::sort(written.begin(), written.end());
  CHECK(written == slots{0, 1, 2, 3, 4, 6, 7});
  CHECK(statements == 7);
  CHECK(queue.refused() == slots{bad});
  CHECK(queue.idle());
  CHECK(queue.due() == start + 1s);
}

TEST_CASE("a row that is refused again is tried with growing pauses, a minute at most") {
  write_queue queue({});
  queue.add(1, start);
  auto now = start;
  std::vector<std::chrono::seconds> pauses;
  for (int i = 0; i < 8; ++i) {
    REQUIRE(queue.begin(now) != nullptr);
    CHECK_FALSE(queue.idle());
    queue.end(write_result::refused, {}, now);
    CHECK(queue.stuck() == slot{1});
    pauses.push_back(std::chrono::duration_cast<std::chrono::seconds>(*queue.due() - now));
    now = *queue.due();
  }
  CHECK(pauses == std::vector<std::chrono::seconds>{1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s});
  queue.begin(now);
  CHECK_FALSE(queue.stuck());
  CHECK(queue.end(write_result::done, {}, now) == slots{1});
}

TEST_CASE("what was refused while nothing was written is tried at once when something is written again") {
  write_queue queue({});
  queue.add(1, start);
  queue.add(2, start);
  queue.begin(start);
  queue.end(write_result::refused, {}, start);
  auto now = start;
  for (int tries = 0; tries < 10; ++tries) {
    now = *queue.due();
    REQUIRE(queue.begin(now) != nullptr);
    queue.end(write_result::refused, {}, now);
  }
  CHECK(queue.refused_since() == start);
  now = *queue.due();
  const slots first = queue.begin(now)->slots;
  CHECK(queue.end(write_result::done, {}, now) == first);
  CHECK(queue.due() == now);
  REQUIRE(queue.begin(now) != nullptr);
  queue.end(write_result::done, {}, now);
  CHECK_FALSE(queue.due());
  CHECK_FALSE(queue.refused_since());
}

TEST_CASE("a row that is refused among others that are written is not tried more often for it") {
  write_queue queue({});
  auto now = start;
  queue.add(1, now);
  queue.begin(now);
  queue.end(write_result::refused, {}, now);
  for (slot other = 2; other < 20; ++other) {
    queue.add(other, now);
    const auto* const group = queue.begin(now, true);
    REQUIRE(group != nullptr);
    const bool is_bad = group->slots == slots{1};
    queue.end(is_bad ? write_result::refused : write_result::done, {}, now);
    now += 1s;
  }
  CHECK(*queue.due() > now - 1s);
  CHECK(queue.refused_since() == start);
}

TEST_CASE("what can never be done is dropped, and the rest goes on") {
  write_queue queue({});
  queue.add(1, start);
  queue.add(2, start);
  queue.begin(start);
  queue.end(write_result::refused, {}, start);
  CHECK(queue.begin(start)->slots == slots{1});
  queue.end(write_result::refused, {}, start);
  queue.drop_stuck();
  CHECK(queue.begin(start)->slots == slots{2});
  CHECK(queue.end(write_result::done, {}, start) == slots{2});
  CHECK_FALSE(queue.due());
}

}  // namespace flow_write_queue_test
