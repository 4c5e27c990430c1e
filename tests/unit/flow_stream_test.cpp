// flow_stream_test: one shard's events, step by step: read, sent, confirmed, marked; and order.
#include "flow/stream/stream.hpp"

#include <doctest/doctest.h>

#include "flow_stream_script.hpp"

namespace flow_stream_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;
using namespace std::chrono_literals;

namespace {

using numbers = std::vector<int>;

stream_limits pipelined() {
  auto out = stream_script::quick();
  out.order = order_mode::pipelined;
  return out;
}

}  // namespace

TEST_CASE("an event is read, sent, and marked once it is acknowledged") {
  stream_script it;
  it.lead();
  const auto news = it.bring({row(5)});
  CHECK(news.read);
  CHECK(news.found == 1);
  CHECK(it.sent() == numbers{5});
  CHECK_FALSE(it.asks());
  it.ack(0, it.latest());
  it.ask();
  CHECK(it.marked() == numbers{5});
  CHECK(it.asked.marks.mode == mark_mode::by_place);
  it.answer();
  CHECK(it.stream.events().size() == 0);
  CHECK(it.stream.at().seq == 5);
}

TEST_CASE("nothing is sent before it is known what is held and what a former leader has left") {
  stream_script it;
  it.stream.start({{9, {5, 5, {}}}, {4}}, payload_type::jsonb);
  it.ask();
  CHECK(it.asked.held_after);
  CHECK_FALSE(it.asked.read);
  named_answers page;
  page.held.answer = {{{1, true}}, 1};
  it.answer(page);
  it.ask();
  CHECK(it.asked.held_after == 1);
  it.answer();
  it.ask();
  CHECK(it.asked.left == std::vector<std::int64_t>{4});
  CHECK_FALSE(it.asked.read);
  named_answers left;
  left.left.answer = {row(4, 2)};
  it.answer(left);
  CHECK(it.stream.now_in() == stream::phase::running);
  CHECK(it.sent() == numbers{4});
}

TEST_CASE(
    "a former leader's events are asked for until they have come, with keys only if one cannot be read") {
  stream_script it;
  it.stream.start({{9, {5, 5, {}}}, {4}}, payload_type::jsonb);
  it.ask(), it.answer();
  it.ask();
  named_answers refused;
  refused.left.result = read_result::refused;
  it.answer(refused);
  CHECK_FALSE(it.asks());
  it.now = it.stream.next_at();
  it.ask();
  CHECK(it.asked.left.size() == 1);
  CHECK(it.asked.keys_only);
}

TEST_CASE(
    "in strict order the next event of an aggregate waits for the confirm of the one before, others do not") {
  stream_script it;
  it.lead();
  it.bring({row(1, 1), row(2, 1), row(3, 2)});
  CHECK(it.sent() == numbers{1, 3});
  it.ack(0, 1);
  CHECK(it.sent() == numbers{2});
}

TEST_CASE("pipelined, an aggregate's events are sent all at once") {
  stream_script it(pipelined());
  it.lead();
  it.bring({row(1, 1), row(2, 1), row(3, 2)});
  CHECK(it.sent() == numbers{1, 2, 3});
}

TEST_CASE("what is read again is known by its id") {
  stream_script it;
  it.lead();
  it.bring({row(1)});
  it.sent();
  it.read({row(1)});
  CHECK(it.sent().empty());
  auto twin = row(2);
  twin.what.seq = 1;
  it.read({row(1), twin});
  it.ack(0, it.latest());
  CHECK(it.sent() == numbers{2});
}

TEST_CASE("a read that goes back brings nothing, and everything from there on is read again") {
  stream_script it;
  it.lead({{100, {5, 5, {}}}, {}});
  named_answers late;
  late.read.answer.saw_all = true;
  late.read.answer.late = 100'000;
  late.read.answer.late_low = 40;
  late.read.answer.rows = {row(120)};
  const auto news = it.answer(late);
  CHECK_FALSE(news.complete);
  CHECK(it.sent().empty());
  CHECK(it.stream.at().seq == 39);
}

TEST_CASE("what committed late takes its place by seq among those that wait for their turn") {
  stream_script it;
  it.lead();
  it.bring({row(1), row(5)});
  it.read({row(3)});
  for (int i = 0; i < 2; ++i) it.ack(0, it.latest());
  CHECK(it.sent() == numbers{1, 3, 5});
}

TEST_CASE("a read that has not seen all that committed late brings nothing from above the position") {
  stream_script it;
  it.lead({{10, {5, 5, {}}}, {}});
  named_answers part;
  part.read.answer.now = {7, 7, {}};
  part.read.answer.late = 1;
  part.read.answer.top = 12;
  part.read.answer.rows = {row(8), row(12, 2)};
  const auto news = it.answer(part);
  CHECK_FALSE(news.complete);
  CHECK(it.sent() == numbers{8});
  CHECK(it.stream.at() == position{10, {7, 7, {}}});
}

TEST_CASE(
    "of the events of one aggregate that are due at once no more stay in memory than a chain may hold") {
  auto limits = stream_script::quick();
  limits.longest_chain = 2;
  stream_script it(limits);
  it.lead();
  it.answer();
  it.stream.ring_due();
  it.ask();
  REQUIRE(it.asked.due);
  named_answers due;
  due.due.answer.rows = {row(1, 1, exception::scheduled), row(2, 1, exception::scheduled),
                         row(3, 1, exception::scheduled)};
  it.answer(due);
  it.ask();
  CHECK(it.recorded() == "3 parked ");
}

TEST_CASE(
    "a scheduled event that is due takes its place behind those of its aggregate, and one that backed off "
    "goes "
    "before them") {
  stream_script it;
  it.lead();
  it.bring({row(5)});
  CHECK(it.sent() == numbers{5});
  it.stream.ring_due();
  it.ask();
  REQUIRE(it.asked.due);
  named_answers due;
  due.due.answer.rows = {row(2, 1, exception::scheduled), row(3, 2, exception::backing_off)};
  it.answer(due);
  CHECK(it.sent() == numbers{3});
  it.ack(0, 1);
  CHECK(it.sent() == numbers{2});
}

TEST_CASE(
    "an event that is scheduled for later is set aside, holds nobody up, and is looked for when it is due") {
  stream_script it;
  it.lead();
  auto later = row(1);
  later.due_in = std::chrono::milliseconds(500);
  it.bring({later, row(2)});
  CHECK(it.sent() == numbers{2});
  it.ask();
  CHECK(it.recorded() == "1 scheduled ");
  CHECK(it.stream.held() == 0);
  const auto recorded_at = it.now;
  it.answer();
  it.ack(0, it.latest());
  while (it.stream.next_at() < clock::time_point::max()) {
    it.now = std::max(it.now, it.stream.next_at());
    it.ask();
    if (it.asked.due) break;
    it.answer();
  }
  CHECK(it.asked.due);
  CHECK(it.now == recorded_at + std::chrono::milliseconds(500));
}

TEST_CASE("an event that is scheduled for later and cannot be set aside holds the saved position down") {
  stream_script it;
  it.lead();
  auto later = row(5);
  later.due_in = std::chrono::milliseconds::max();
  it.bring({later});
  it.ask();
  CHECK(it.recorded() == "5 scheduled ");
  named_answers locked;
  locked.failures.left = {key_of(5)};
  it.answer(locked);
  it.stream.sweep();
  it.ask();
  REQUIRE(it.asked.save);
  CHECK(it.asked.save->seq == 4);
}

TEST_CASE("a due event with an earlier one that waits is parked") {
  stream_script it;
  it.lead();
  it.bring({});
  it.stream.ring_due();
  it.ask();
  named_answers due;
  due.due.answer.rows = {row(7, 1, exception::scheduled)};
  due.due.answer.rows[0].earlier_waits = true;
  it.answer(due);
  it.ask();
  CHECK(it.recorded() == "7 parked ");
  CHECK(it.sent().empty());
}

TEST_CASE("a batch is read when there is memory for a whole one, and none without a lane") {
  auto limits = stream_script::quick();
  limits.read.batch = 2;
  limits.batches = 2;
  stream_script it(limits);
  it.lead();
  CHECK(it.asked.read->events == 2);
  it.bring({row(1, 1), row(2, 2)});
  it.ask();
  it.bring({row(3, 3), row(4, 4)});
  CHECK_FALSE(it.asks());
  it.ack(0, 1);
  it.ask();
  CHECK(it.marked() == numbers{1});
  it.answer();
  CHECK_FALSE(it.asks());
  it.ack(0, 2);
  it.ask();
  it.answer();
  it.ask();
  REQUIRE(it.asked.read);
  CHECK(it.asked.read->events == 2);
  it.answer();
  it.wires[0].on_broker_down({});
  it.stream.ring();
  CHECK_FALSE(it.asks());
}

TEST_CASE("memory that is full of bytes reads no more until some of them are settled") {
  auto limits = stream_script::quick();
  limits.read.batch = 2;
  limits.batches = 4;
  limits.batch_bytes = 50;  // two rows of a hundred fill four batches
  stream_script it(limits);
  it.lead();
  it.bring({row(1, 1), row(2, 2)});
  CHECK_FALSE(it.asks());
  it.ack(0, 1);
  it.ask();
  CHECK(it.marked() == numbers{1});
  it.answer();
  it.ask();
  CHECK(it.asked.read);
}

TEST_CASE("what a former leader has left goes out in order, in whatever order it is found") {
  stream_script it;
  it.stream.start({{5, {}}, {4, 3}}, payload_type::jsonb);
  while (it.asks() && it.asked.left.empty()) it.answer();
  REQUIRE(it.asked.left.size() == 2);
  named_answers left;
  left.left.answer = {row(4), row(3)};
  it.answer(std::move(left));
  CHECK(it.sent() == numbers{3});
}

TEST_CASE("rows that PostgreSQL will not write leave room for small reads, as long as there is any") {
  auto limits = stream_script::quick();
  limits.read.batch = 2;
  limits.batches = 2;
  stream_script it(limits);
  it.lead();
  it.bring({row(1, 1), row(2, 2)});
  it.read({row(3, 3)});
  for (const token one : {1, 2, 3}) {
    it.ack(0, one);
    it.ask();
    REQUIRE_FALSE(it.asked.marks.keys.empty());
    named_answers refused;
    refused.marks.result = write_result::refused;
    it.answer(std::move(refused));
  }
  it.stream.ring();
  it.ask();
  REQUIRE(it.asked.read);
  CHECK(it.asked.read->events == 1);
  it.bring({row(4, 4)});
  it.stream.ring();
  CHECK_FALSE(it.asks());
}

TEST_CASE("what was on a lost lane is sent again on another, in order") {
  stream_script it(pipelined(), 2);
  it.lead();
  it.bring({row(1), row(2)});
  CHECK(it.sent(0) == numbers{1, 2});
  it.wires[0].on_broker_down({});
  numbers again;
  for (const auto& one : it.connections[1].sent) again.push_back(std::stoi(one.id.substr(34), nullptr, 16));
  CHECK(again == numbers{1, 2});
}

TEST_CASE("the saved seq is below what is not settled, and rises with it") {
  stream_script it;
  it.lead();
  it.bring({row(1, 1), row(2, 2), row(3, 3)});
  it.ack(0, 1);
  it.ack(0, 3);
  it.ask(), it.answer();
  it.stream.sweep();
  it.ask();
  REQUIRE(it.asked.save);
  CHECK(it.asked.save->seq == 1);
  it.bring({});
  it.ack(0, 2);
  it.ask(), it.answer();
  it.stream.sweep();
  it.ask();
  REQUIRE(it.asked.save);
  CHECK(it.asked.save->seq == 3);
}

}  // namespace flow_stream_test
