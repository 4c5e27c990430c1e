// flow_scanner_test: what a new leader has to know before it sends, and what is looked for page by page.
#include "flow/stream/scanner.hpp"
#include "request_by_name.hpp"

#include <doctest/doctest.h>

namespace flow_scanner_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace std::chrono_literals;

namespace {

template <class Answer>
tried<Answer> failed(read_result how = read_result::deferred) {
  return {.result = how, .reason = "a lock", .answer = {}};
}

struct fixture {
  clock::time_point now{std::chrono::hours(1)};
  barriers known{100};
  scanner it;

  explicit fixture(bool dead_hold = false) : it(known, dead_hold) {}
  test::named_request ask_to_load() {
    store_request out;
    it.add_to_load(out, now);
    return test::named_request(out);
  }
  test::named_request ask(int room = 100) {
    store_request out;
    it.add_to(out, room, now);
    return test::named_request(out);
  }
  void no_pauses(bool running) { REQUIRE(it.on_pauses({}, running, now)); }
  void load() {
    it.start({}, now);
    const auto first = ask_to_load();
    no_pauses(false);
    it.on_held({}, *first.held_after, false, now);
    REQUIRE(it.knows_barriers(now));
    REQUIRE(ask().resume);
    REQUIRE(it.on_resumed({}, now));
    // Other tests than its own see no walk over what waits for destinations.
    REQUIRE_FALSE(it.on_waits(failed<waits_answer>(), now + walked_after));
    REQUIRE(idles());
  }
  static constexpr std::chrono::hours walked_after{1'000};
  bool idles(int room = 100) const { return it.next(room) > now + walked_after / 2; }
};

struct hold_behind_dead : fixture {
  hold_behind_dead() : fixture(true) {}
};

}  // namespace

TEST_CASE_FIXTURE(fixture, "all that holds events back is known before what a former leader left is read") {
  it.start({1}, now);
  CHECK(it.has_left());
  const auto first = ask_to_load();
  CHECK(first.pauses);
  REQUIRE(first.held_after);
  CHECK(first.left.empty());
  CHECK_FALSE(first.dead_after);
  no_pauses(false);
  it.on_held({.result = read_result::done, .reason = {}, .answer = {.rows = {{7, true}}, .upto = 7}},
             *first.held_after, false, now);
  CHECK_FALSE(it.knows_barriers(now));
  const auto second = ask_to_load();
  CHECK_FALSE(second.pauses);
  CHECK(second.held_after == 7);
  it.on_held({}, 7, false, now);
  CHECK(it.knows_barriers(now));
  CHECK(known.hold(7));
  CHECK(ask_to_load().left.size() == 1);
  CHECK_FALSE(it.on_left(failed<std::vector<stored_event>>(), now));
  CHECK(it.has_left());
  CHECK(ask_to_load().left.empty());  // not before a pause
  now = it.next_to_load();
  CHECK(ask_to_load().left.size() == 1);
  CHECK(it.on_left({}, now));
  CHECK_FALSE(it.has_left());
}

TEST_CASE_FIXTURE(fixture, "a page that fails is asked for again after a pause, from where it was") {
  load();
  it.scan_held();
  const auto first = ask().held_after;
  REQUIRE(first);
  it.on_held(failed<held_answer>(), *first, true, now);
  CHECK(it.next(100) > now);
  CHECK_FALSE(ask().held_after);
  now = it.next(100);
  CHECK(ask().held_after == first);
}

TEST_CASE_FIXTURE(fixture,
                  "while it runs a page is looked at each time that there is something, and then the next") {
  load();
  it.scan_held();
  it.on_held({.result = read_result::done, .reason = {}, .answer = {.rows = {{3, false}}, .upto = 3}},
             *ask().held_after, true, now);
  CHECK_FALSE(ask().held_after);
  it.scan_held();
  CHECK(ask().held_after == 3);
}

TEST_CASE_FIXTURE(fixture, "what waits for destinations is walked in pages, and then again and again") {
  load();
  it.give_up_after(1h);
  CHECK(ask().waits->after == waits_cursor{});
  CHECK(ask().waits->give_up_after == 1h);
  const waits_cursor far{.of = destination_id{5}, .seq = 5};
  CHECK(it.on_waits({.result = read_result::done, .reason = {}, .answer = {.found = {}, .upto = far}}, now));
  CHECK_FALSE(ask().waits);
  now = it.next(100);
  CHECK(ask().waits->after == far);
  CHECK_FALSE(it.on_waits(failed<waits_answer>(), now));  // the same page again
  now = it.next(100);
  CHECK(ask().waits->after == far);
  CHECK(it.on_waits({}, now));
  CHECK(it.next(100) >= now + 10s);
  now = it.next(100);
  CHECK(ask().waits->after == waits_cursor{});
  CHECK(it.on_waits({.result = read_result::done, .reason = {}, .answer = {.found = {}, .upto = far}}, now));
  CHECK(it.next(100) < now + 10s);
  it.give_up_after(2h);  // at once, and from the start
  CHECK(ask().waits->after == waits_cursor{});
  CHECK(ask().waits->give_up_after == 2h);
}

TEST_CASE_FIXTURE(fixture, "a page of what waits that PostgreSQL refuses to change is read all the same") {
  load();
  it.give_up_after(1h);
  const waits_cursor first{.of = destination_id{5}, .seq = 5};
  const waits_cursor second{.of = destination_id{7}, .seq = 7};
  const auto answer = [&](const waits_cursor& upto) {
    return tried<waits_answer>{
        .result = read_result::done, .reason = {}, .answer = {.found = {}, .upto = upto}};
  };
  REQUIRE_FALSE(ask().waits->only_reads);
  CHECK(it.on_waits(answer(first), now));
  now = it.next(100);
  CHECK_FALSE(ask().waits->only_reads);
  CHECK_FALSE(it.on_waits({.result = read_result::refused, .reason = "raised", .answer = {}}, now));
  now = it.next(100);
  const auto again = ask().waits;
  CHECK(again->after == first);
  CHECK(again->only_reads);
  CHECK(it.on_waits(answer(second), now));
  now = it.next(100);
  CHECK(ask().waits->after == second);
  CHECK_FALSE(ask().waits->only_reads);
}

TEST_CASE_FIXTURE(fixture,
                  "what waits for a pause is looked for when the pause has ended, and while there is room") {
  load();
  it.ring_pauses();
  CHECK(ask().pauses);
  REQUIRE(it.on_pauses(
      {.result = read_result::done, .reason = {}, .answer = {.in_force = {}, .next_end = 30s}}, true, now));
  CHECK(it.next(100) == now + 30s);
  now += 30s;
  CHECK(ask().pauses);
  no_pauses(true);
  it.resume();
  CHECK_FALSE(ask(0).resume);
  CHECK(idles(0));
  CHECK(ask().resume->after == position::before_all);
  CHECK(it.on_resumed({.result = read_result::done, .reason = {}, .answer = {.rows = {}, .upto = 9}}, now));
  CHECK(ask().resume->after == 9);
  CHECK(it.on_resumed({}, now));
  CHECK(idles());
}

TEST_CASE_FIXTURE(fixture, "a pause that ends while that is looked for sends the look back to the start") {
  load();
  for (const std::optional<std::int64_t> upto :
       {std::optional<std::int64_t>(9), std::optional<std::int64_t>()}) {
    it.resume();
    CHECK(ask().resume->after == position::before_all);
    it.resume();
    CHECK(it.on_resumed({.result = read_result::done, .reason = {}, .answer = {.rows = {}, .upto = upto}},
                        now));
    CHECK(ask().resume->after == position::before_all);
    CHECK(it.on_resumed({}, now));
    CHECK(idles());
  }
}

TEST_CASE_FIXTURE(fixture, "a ring while the pauses are being read has them read again") {
  load();
  it.ring_pauses();
  CHECK(ask().pauses);
  CHECK_FALSE(ask().pauses);
  it.ring_pauses();
  no_pauses(true);
  CHECK(it.next(100) <= now);
  CHECK(ask().pauses);
}

TEST_CASE_FIXTURE(fixture,
                  "a look at what is paused that fails while events are sent is not made again at once") {
  load();
  it.ring_pauses();
  CHECK(ask().pauses);
  CHECK_FALSE(it.on_pauses(failed<pauses_answer>(), true, now));
  CHECK(it.next(100) >= now + 100ms);
  now = it.next(100);
  CHECK(ask().pauses);
}

TEST_CASE_FIXTURE(
    hold_behind_dead,
    "where dead events hold back, they are looked through before the first send, and when rung") {
  it.start({}, now);
  const auto first = ask_to_load();
  no_pauses(false);
  it.on_held({}, *first.held_after, false, now);
  CHECK_FALSE(it.knows_barriers(now));
  REQUIRE(ask_to_load().dead_after);
  it.on_dead_page({.result = read_result::done, .reason = {}, .answer = {.of = {4}, .upto = 40}}, now);
  CHECK(ask_to_load().dead_after == 40);
  it.on_dead_page({.result = read_result::done, .reason = {}, .answer = {.of = {5}, .upto = {}}}, now);
  CHECK(it.knows_barriers(now));
  CHECK(known.hold(4));
  CHECK(known.hold(5));
  CHECK(known.aggregates() == 2);
  it.ring_dead(now);
  REQUIRE(ask().dead_after);
  it.on_dead_page({.result = read_result::done, .reason = {}, .answer = {.of = {5}, .upto = {}}}, now);
  CHECK_FALSE(known.dead.holds(4));  // retried or discarded
  CHECK(known.held.asks());          // what it held back is looked up
  CHECK(known.hold(5));
}

}  // namespace flow_scanner_test
