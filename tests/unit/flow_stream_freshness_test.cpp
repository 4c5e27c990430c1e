// flow_stream_freshness_test: what waits in memory for longer than a second is looked at again before it is
// sent, and only that.
#include <doctest/doctest.h>

#include "flow_stream_script.hpp"

namespace flow_stream_freshness_test {

using namespace outboxd;
using namespace outboxd::test;
using namespace std::chrono_literals;
using flow::exception;

namespace {

flow::stream_limits ordinary() {
  auto out = stream_script::quick();
  out.fresh_for = 1s;
  return out;
}

std::vector<int> looked_at(const stream_script& it) {
  std::vector<int> out;
  for (const auto& one : it.asked.looks) out.push_back(number_of(one.key.id));
  return out;
}

// Those of what was asked for that are as they were.
void same(stream_script& it, const std::vector<int>& numbers) {
  named_answers out;
  for (const int one : numbers) out.looked.answer.push_back(key_of(one));
  it.answer(std::move(out));
}

void acknowledge(stream_script& it) {
  it.ack(0, it.latest());
}

}  // namespace

TEST_CASE("what is sent within a second of its read is not looked at") {
  stream_script it(ordinary());
  it.lead();
  it.bring({row(1), row(2)});
  it.now += 1s;
  acknowledge(it);
  CHECK(it.sent() == std::vector{1, 2});
  it.ask();
  CHECK(it.asked.looks.empty());
}

TEST_CASE("what has waited for longer is looked at with those behind it, and goes out as it was") {
  stream_script it(ordinary());
  it.lead();
  it.bring({row(1), row(2), row(3)});
  it.now += 1'001ms;
  acknowledge(it);
  CHECK(it.sent() == std::vector{1});
  it.ask();
  CHECK(looked_at(it) == std::vector{2, 3});
  same(it, {2, 3});
  CHECK(it.sent() == std::vector{2});
  it.now += 900ms;
  acknowledge(it);
  CHECK(it.sent() == std::vector{3});
}

TEST_CASE("a row that has changed is fetched, and goes out as it is then") {
  stream_script it(ordinary());
  it.lead();
  it.bring({row(1), row(2)});
  it.now += 2s;
  acknowledge(it);
  it.ask();
  same(it, {});
  it.ask();
  REQUIRE(it.asked.fetch.size() == 1);
  CHECK(it.asked.fetch.front() == key_of(2));
  named_answers out;
  out.fetched.answer = {row(2)};
  out.fetched.answer.front().what.event_type = "corrected";
  it.answer(std::move(out));
  CHECK(it.sent() == std::vector{1, 2});
  CHECK(it.connections[0].sent.back().type == "corrected");
}

TEST_CASE("a row that has been put off, or is finished, is forgotten, and the next one goes") {
  for (const bool put_off : {true, false}) {
    stream_script it(ordinary());
    it.lead();
    it.bring({row(1), row(2), row(3)});
    it.now += 2s;
    acknowledge(it);
    it.ask();
    same(it, {3});
    it.ask();
    named_answers out;
    if (put_off) {
      out.fetched.answer = {row(2, 1, exception::scheduled)};
      out.fetched.answer.front().put_off = true;
    }
    it.answer(std::move(out));
    CHECK(it.sent() == std::vector{1, 3});
  }
}

TEST_CASE("one that backs off and is put off holds its aggregate still") {
  stream_script it(ordinary());
  it.lead();
  it.bring({row(1), row(2)});
  it.now += 2s;
  acknowledge(it);
  it.ask();
  same(it, {});
  it.ask();
  named_answers out;
  out.fetched.answer = {row(2, 1, exception::backing_off)};
  out.fetched.answer.front().put_off = true;
  it.answer(std::move(out));
  it.read({row(3)});
  CHECK(it.sent() == std::vector{1});
  it.ask();
  CHECK(it.recorded() == "3 parked ");
}

TEST_CASE("a look that a lock puts off is tried again, and one that is refused has all of it fetched") {
  stream_script it(ordinary());
  it.lead();
  it.bring({row(1), row(2)});
  it.now += 2s;
  acknowledge(it);
  it.ask();
  named_answers later;
  later.looked.result = flow::read_result::deferred;
  it.answer(std::move(later));
  it.now += 20ms;
  it.ask();
  CHECK(looked_at(it) == std::vector{2});
  named_answers refused;
  refused.looked.result = flow::read_result::refused;
  it.answer(std::move(refused));
  it.ask();
  CHECK(it.asked.fetch.size() == 1);
  CHECK(it.sent() == std::vector{1});
}

TEST_CASE("a lane that is full has nothing looked at before it says that there is room") {
  stream_script it(ordinary());
  it.lead();
  it.connections[0].full = true;
  it.bring({row(1), row(2, 2)});
  it.now += 2s;
  it.pool.pump();
  CHECK_FALSE(it.asks());
  it.connections[0].full = false;
  it.wires[0].on_writable();
  it.ask();
  CHECK(looked_at(it) == std::vector{1, 2});
}

TEST_CASE("in pipelined order nobody overtakes one that is looked at") {
  auto limits = ordinary();
  limits.order = order_mode::pipelined;
  stream_script it(limits);
  it.lead();
  it.connections[0].full = true;
  it.bring({row(1), row(2)});
  it.now += 800ms;
  it.read({row(3)});
  it.now += 800ms;  // the third one is fresh
  it.connections[0].full = false;
  it.wires[0].on_writable();
  CHECK(it.sent().empty());
  it.ask();
  CHECK(looked_at(it) == std::vector{1, 2, 3});
  same(it, {1, 2, 3});
  CHECK(it.sent() == std::vector{1, 2, 3});
}

// A lane may have to stop between one that is old and its successor that is not.
TEST_CASE("in pipelined order one that was looked at goes before its successors that their lane has still") {
  auto limits = ordinary();
  limits.order = order_mode::pipelined;
  stream_script it(limits, 1, {}, flow::rate_limit(10));
  it.lead();
  it.connections[0].full = true;
  it.bring({row(1)});
  it.now += 900ms;
  it.read({row(2, 2), row(3), row(4)});
  it.now += 200ms;
  it.connections[0].full = false;
  it.wires[0].on_writable();
  CHECK(it.sent() == std::vector{2});
  it.ask();
  CHECK(looked_at(it) == std::vector{1});
  same(it, {1});
  for (int i = 0; i < 3; ++i) {
    it.now += 100ms;
    it.pool.pump();
  }
  CHECK(it.sent() == std::vector{1, 3, 4});
}

TEST_CASE("what is published and was changed after it was sent is told") {
  stream_script it(ordinary());
  it.lead();
  it.bring({row(1)});
  acknowledge(it);
  it.ask();
  REQUIRE(it.marked() == std::vector{1});
  named_answers missed;
  missed.marks.result = flow::write_result::missed;
  it.answer(std::move(missed));
  it.ask();
  REQUIRE(it.asked.marks.sent.size() == 1);
  CHECK(it.asked.marks.sent.front().event_type == "t");
  named_answers changed;
  changed.marks.changed = {key_of(1)};
  it.answer(std::move(changed));
  CHECK(it.changed == std::vector{1});
}

}  // namespace flow_stream_freshness_test
