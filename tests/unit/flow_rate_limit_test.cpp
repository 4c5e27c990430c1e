// flow_rate_limit_test: what a rate limit lets out in a time, how often it is asked, and what it does not
// hold up.
#include "flow/dispatch/rate_limit.hpp"

#include <doctest/doctest.h>

#include "flow_stream_script.hpp"

namespace flow_rate_limit_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;
using namespace std::chrono_literals;

namespace {

struct passed {
  int messages = 0;
  int looks = 0;
};

// Sends all that is allowed for so long, asking only when the limit says so.
passed send_for(rate_limit& limit, clock::time_point& now, clock::duration how_long) {
  passed out;
  for (const auto end = now + how_long; now < end;) {
    ++out.looks;
    while (limit.allows(now)) limit.count(now), ++out.messages;
    now = std::min(end, limit.ask_again_at(now));
  }
  return out;
}

int burst_of(std::int64_t rate) {
  return static_cast<int>(std::max<std::int64_t>(1, rate / 10));
}

struct limited : scripted_lanes {
  explicit limited(std::int64_t rate, std::size_t count) : scripted_lanes(count, {}, rate_limit(rate)) {}

  std::size_t sent(std::size_t lane) const { return connections[lane].sent.size(); }
};

// Has one message for every slot, and counts what comes of them.
class sender final : public lane_client {
 public:
  result<message> message_of(slot which) override {
    message out{};
    out.message_id = std::to_string(which);
    return out;
  }
  destination target_of(slot) const override { return {}; }
  void on_sent(slot) override { ++sent; }
  void on_outcome(slot, const outcome&, clock::time_point) override { ++outcomes; }
  void on_unencodable(slot, std::string) override {}
  void on_interrupted(slot, const interruption&, bool, clock::time_point) override {}
  void on_overdue(slot) override {}
  void on_unsent(slot) override { ++unsent; }
  void on_lanes_changed() override {}
  void on_progress() override {}

  int sent = 0;
  int outcomes = 0;
  int unsent = 0;
};

}  // namespace

TEST_CASE("without a rate everything is allowed and a whole batch is read") {
  rate_limit none;
  CHECK_FALSE(none.is_set());
  for (int i = 0; i < 100'000; ++i) none.count({});
  CHECK(none.allows({}));
  CHECK(none.worth_reading(1'500) == 1'500);
}

TEST_CASE("in any time a rate limit lets out the rate times the time and a tenth of a second's worth") {
  for (const std::int64_t rate : {1, 3, 7, 10, 20, 99, 1'000, 30'000, 999'999, 1'000'000}) {
    CAPTURE(rate);
    rate_limit limit(rate);
    clock::time_point now{1h};
    const auto all = send_for(limit, now, 10s);
    CHECK(all.messages <= 10 * rate + burst_of(rate));
    CHECK(all.messages >= 10 * rate * 99 / 100);
    // It sleeps in between: 10 ms, or until the next one.
    CHECK(all.looks <= std::min<std::int64_t>(1'001, 10 * rate + 1));
    now += 1h;  // what was not used is lost
    CHECK(send_for(limit, now, 1ms).messages == burst_of(rate));
  }
}

TEST_CASE("of a limited rate no more is read at once than goes out in a second") {
  CHECK(rate_limit(20).worth_reading(1'500) == 20);
  CHECK(rate_limit(1).worth_reading(1'500) == 1);
  CHECK(rate_limit(1'000'000).worth_reading(1'500) == 1'500);
}

TEST_CASE("lanes under a rate limit send in turns, and confirms are heard meanwhile") {
  sender whose;
  limited it{20, 2};  // a burst of two
  it.pool.join(whose);
  for (slot which = 0; which < 40; ++which) it.wires[which % 2].offer({.whose = &whose, .which = which});
  it.pool.pump();
  CHECK(it.sent(0) == 1);
  CHECK(it.sent(1) == 1);
  REQUIRE(it.pool.next_pump());
  CHECK(*it.pool.next_pump() == it.now + 50ms);
  it.ack(0, 1);  // and pumps again
  CHECK(whose.outcomes == 1);
  CHECK(whose.sent == 2);
  for (int i = 0; i < 10; ++i) {
    it.now = *it.pool.next_pump();
    it.pool.pump();
  }
  CHECK(it.sent(0) == 6);
  CHECK(it.sent(1) == 6);
  it.pool.withdraw(whose);  // a stop: what is not sent goes back, what is sent is waited for
  CHECK(whose.unsent == 28);
  it.now += 1h;
  it.pool.pump();
  CHECK(whose.sent == 12);
  CHECK_FALSE(it.pool.next_pump());
  it.ack(1, 1);
  CHECK(whose.outcomes == 2);
}

TEST_CASE("a limit that changes or goes lets what it held back go at once") {
  sender whose;
  limited it{20, 1};  // a burst of two
  it.pool.join(whose);
  for (slot which = 0; which < 40; ++which) it.wires[0].offer({.whose = &whose, .which = which});
  it.pool.pump();
  CHECK(it.sent(0) == 2);
  it.pool.limit_to(rate_limit(100));  // a burst of ten
  CHECK(it.sent(0) == 12);
  REQUIRE(it.pool.next_pump());
  CHECK(*it.pool.next_pump() == it.now + 10ms);
  it.pool.limit_to(rate_limit());
  CHECK(it.sent(0) == 40);
  CHECK_FALSE(it.pool.next_pump());
}

TEST_CASE("a lane with nothing to send leaves its turn to the others") {
  sender whose;
  limited it{100, 3};
  it.pool.join(whose);
  for (slot which = 0; which < 40; ++which) it.wires[1].offer({.whose = &whose, .which = which});
  it.pool.pump();
  CHECK(it.sent(1) == 10);
}

TEST_CASE("under a rate limit events are read as they go out, and retries count as well") {
  stream_script it{stream_script::quick(), 1, {}, rate_limit(2)};
  it.lead();
  REQUIRE(it.asked.read);
  CHECK(it.asked.read->events == 8);  // four seconds' worth in memory
  it.bring({row(1), row(2, 2), row(3, 3), row(4, 4), row(5, 5), row(6, 6), row(7, 7), row(8, 8)});
  CHECK(it.sent() == std::vector{1});
  it.stream.ring();
  CHECK_FALSE(it.asks());  // there is no room
  it.answer(0, it.latest(), verdict::nacked);
  it.now = *it.pool.next_pump();
  it.pool.pump();
  CHECK(it.sent() == std::vector{2});
  it.ack(0, it.latest());
  it.ask();
  CHECK(it.marked() == std::vector{2});
  CHECK_FALSE(it.asked.read);
  it.answer();
  it.ask();  // the place of two: the marked one, and the one that waits
  REQUIRE(it.asked.read);
  CHECK(it.asked.read->events == 2);
  CHECK(it.sent().empty());
  named_answers due;
  due.read.answer.saw_all = true;
  due.read.answer.now = {9, 9, {}};
  due.due.answer.rows = {row(1, 1, exception::backing_off)};
  const bool asks_due = it.asked.due.has_value();
  it.answer(std::move(due));
  if (!asks_due) {
    it.stream.ring_due();
    it.ask();
    named_answers later;
    later.due.answer.rows = {row(1, 1, exception::backing_off)};
    it.answer(std::move(later));
  }
  CHECK(it.sent().empty());                       // no more than the others
  for (const int next : {3, 4, 5, 6, 7, 1, 8}) {  // the eighth place is for what has waited
    it.now = *it.pool.next_pump();
    it.pool.pump();
    CHECK(it.sent() == std::vector{next});
  }
}

}  // namespace flow_rate_limit_test
