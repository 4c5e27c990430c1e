// flow_stream_returning_test: what had waited in the table leaves room for what is new.
#include <doctest/doctest.h>

#include "flow_stream_script.hpp"

namespace flow_stream_returning_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;

namespace {

using numbers = std::vector<int>;

// Memory for sixteen events.
stream_limits small(order_mode order = order_mode::strict) {
  auto out = stream_script::quick();
  out.read.batch = 8;
  out.batches = 2;
  out.order = order;
  return out;
}

struct replay_script : stream_script {
  explicit replay_script(order_mode order = order_mode::strict) : stream_script(small(order)) {
    lead();
    bring({});
    while (asks()) answer();
  }
  // Events that are due, each of an aggregate of its own.
  void bring_due(int first, int count) {
    stream.ring_due();
    while (ask(), !asked.due) answer();
    named_answers out;
    for (int one = first; one < first + count; ++one)
      out.due.answer.rows.push_back(row(one, one, exception::scheduled));
    answer(std::move(out));
  }
};

}  // namespace

TEST_CASE("due events have half of the memory, a piece at a time, and new ones are read beside them") {
  replay_script it;
  it.stream.ring_due();
  it.ask();
  REQUIRE(it.asked.due);
  CHECK(it.asked.due_events == 4);
  it.answer();
  for (int first = 100; first < 108; first += 4) it.bring_due(first, 4);
  CHECK(it.stream.events().returning().events == 8);
  it.stream.ring_due();
  it.stream.ring();
  it.ask();
  CHECK_FALSE(it.asked.due);
  REQUIRE(it.asked.read);
  CHECK(it.asked.read->events == 8);
  it.bring({});
  for (token one = 1; one <= 4; ++one) it.ack(0, one);
  while (it.ask(), !it.asked.due) it.answer();  // four have been confirmed
  CHECK(it.asked.due_events == 4);
}

TEST_CASE(
    "beside new events a round trip reads and marks little of those that return, and a second later all") {
  replay_script it;
  it.bring_due(100, 4);
  it.bring_due(104, 4);
  it.read({row(1)});
  for (token one = 1; one <= 4; ++one) it.ack(0, one);
  it.ask();
  CHECK(it.marked() == numbers{100});
  while (!it.asked.due) it.answer(), it.ask();
  CHECK(it.asked.due_events == 1);
  it.answer();
  it.now += std::chrono::seconds(1);
  for (token one = 5; one <= 8; ++one) it.ack(0, one);
  std::size_t most = 0;
  while (it.asks()) {
    most = std::max(most, it.marked().size());
    it.answer();
  }
  CHECK(most > 1);
}

TEST_CASE("beside live events those that return rest seven times as long as their round trip took") {
  using namespace std::chrono_literals;
  replay_script it;
  it.read({row(1)});
  it.stream.ring_due();
  while (it.ask(), !it.asked.due) it.answer();
  it.now += 10ms;
  it.answer();
  it.stream.ring_due();
  it.stream.ring();
  it.ask();
  CHECK(it.asked.read);
  CHECK_FALSE(it.asked.due);
  it.bring({});
  CHECK(it.stream.next_at() == it.now + 70ms);
  it.now += 70ms;
  it.ask();
  CHECK(it.asked.due);
}

TEST_CASE("beside a backlog they do not rest") {
  using namespace std::chrono_literals;
  replay_script it;
  it.stream.ring_due();
  it.read({row(1), row(2), row(3), row(4), row(5), row(6), row(7), row(8)});  // a batch: there may be more
  it.stream.ring_due();
  while (it.ask(), !it.asked.due) it.answer();
  it.now += 10ms;
  it.answer();
  it.stream.ring_due();
  it.ask();
  CHECK(it.asked.due);
}

TEST_CASE("texts of due events have half of the bytes") {
  auto limits = small();
  limits.batch_bytes = 100;
  stream_script it(limits);
  it.lead();
  it.bring({});
  it.stream.ring_due();
  while (it.ask(), !it.asked.due) it.answer();
  named_answers due;
  due.due.answer.rows = {row(1, 1, exception::scheduled)};
  due.due.answer.rows[0].size = 100;
  it.answer(std::move(due));
  it.stream.ring_due();
  it.stream.ring();
  it.ask();
  CHECK_FALSE(it.asked.due);
  CHECK(it.asked.read);
}

TEST_CASE("pipelined, an aggregate keeps its order, whichever of its events have waited") {
  replay_script it(order_mode::pipelined);
  it.wires[0].on_blocked(true);  // so that all of them wait for the lane
  named_answers mixed;
  it.stream.ring_due();
  while (it.ask(), !it.asked.due) it.answer();
  mixed.due.answer.rows = {row(1, 7, exception::scheduled)};
  it.answer(std::move(mixed));
  it.read({row(2, 7), row(3, 8), row(4, 7)});
  it.wires[0].on_blocked(false);
  CHECK(it.sent() == numbers{3, 1, 2, 4});
}

TEST_CASE("what waited for an event that is gone is let go, also by a first read that finds nothing at all") {
  stream_script it;
  it.stream.start({{position::before_all, {}}, {}}, payload_type::jsonb);
  while (it.stream.now_in() == stream::phase::loading) {
    it.ask();
    named_answers out;
    if (it.asked.held_after) out.held.answer.rows = {{.which = 7, .head_waits = false}};
    it.answer(std::move(out));
  }
  while (it.ask(), !it.asked.read) it.answer();
  CHECK(it.asked.release.empty());
  CHECK(it.stream.held() == 1);
  it.bring({});
  it.ask();
  CHECK(it.asked.release == std::vector<aggregate>{7});
  it.answer();
  CHECK(it.stream.held() == 0);
}

}  // namespace flow_stream_returning_test
