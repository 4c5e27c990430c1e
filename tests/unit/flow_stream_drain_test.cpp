// flow_stream_drain_test: what a stream does when it gives the lead up, loses it, or may not be sure of it.
#include <doctest/doctest.h>

#include "flow_stream_script.hpp"

namespace flow_stream_drain_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;
using namespace std::chrono_literals;

namespace {

using numbers = std::vector<int>;

}  // namespace

TEST_CASE("a stream that drains sends nothing more, waits for its confirms, and saves what it has settled") {
  stream_script it;
  it.lead();
  it.bring({row(1, 1), row(2, 1), row(3, 2)});
  CHECK(it.sent() == numbers{1, 3});
  it.stream.drain();
  CHECK_FALSE(it.stream.drained());
  it.ack(0, 1);
  CHECK(it.sent().empty());
  it.ack(0, 2);
  it.ask();
  CHECK(it.marked() == numbers{1, 3});
  CHECK_FALSE(it.asked.save);
  it.answer();
  it.ask();
  REQUIRE(it.asked.save);
  CHECK(it.asked.save->seq == 1);  // 2 has to be read again
  CHECK_FALSE(it.stream.drained());
  it.answer();
  CHECK(it.stream.drained());
}

TEST_CASE("a stream that does not come to rest goes on with what it gave back and what is in flight") {
  stream_script it;
  it.lead();
  it.bring({row(1, 1), row(2, 1), row(3, 2)});
  CHECK(it.sent() == numbers{1, 3});
  it.ack(0, 2);
  it.stream.drain();
  it.ask();
  CHECK(it.marked() == numbers{3});
  it.answer();
  CHECK_FALSE(it.stream.drained());
  it.stream.go_on();
  CHECK(it.stream.now_in() == stream::phase::loading);
  it.load();
  REQUIRE(it.asked.read);
  CHECK(it.asked.read->from.seq == 1);
  it.bring({row(2, 1), row(4, 3)});
  CHECK(it.sent() == numbers{4});
  it.ack(0, 1);
  CHECK(it.sent() == numbers{2});
}

TEST_CASE("what is interrupted while a stream is about to go on is read again") {
  stream_script it;
  it.lead();
  it.bring({row(1, 1)});
  CHECK(it.sent() == numbers{1});
  it.stream.drain();
  it.stream.go_on();
  it.wires[0].on_broker_down({});
  it.wires[0].on_broker_up();
  CHECK(it.stream.events().size() == 0);
  it.load();
  REQUIRE(it.asked.read);
  CHECK(it.asked.read->from.seq == 0);
  it.bring({row(1, 1)});
  CHECK(it.sent() == numbers{1});
}

TEST_CASE("a stream with nothing under way has drained at once") {
  stream_script it;
  it.lead();
  it.bring({row(1, 1)});
  it.ack(0, 1);
  it.ask();
  it.answer();
  const auto answer_all = [&] {
    while (it.asks()) {
      if (it.asked.read)
        it.bring({});
      else
        it.answer();
    }
  };
  it.stream.sweep();
  answer_all();
  it.stream.drain();
  CHECK(it.stream.next_at() <= it.now);
  answer_all();
  CHECK(it.stream.drained());
}

TEST_CASE("a lane that goes down while a stream drains leaves nothing to wait for") {
  stream_script it;
  it.lead();
  it.bring({row(1)});
  it.stream.drain();
  it.wires[0].on_broker_down({});
  CHECK_FALSE(it.asks());  // nothing is settled
  CHECK(it.stream.at().seq == 0);
  CHECK(it.stream.drained());
}

TEST_CASE("who does not wait any longer gives the rest back") {
  stream_script it;
  it.lead();
  it.bring({row(1)});
  it.stream.drain();
  it.stream.abandon();
  it.ack(0, 1);  // nobody hears it
  CHECK_FALSE(it.asks());
  CHECK(it.stream.at().seq == 0);
  CHECK(it.stream.drained());
}

TEST_CASE("with the lead everything in memory is lost, and a confirm that comes later marks nothing") {
  stream_script it;
  it.lead();
  it.bring({row(1), row(2)});
  it.stream.lost();
  CHECK(it.stream.events().size() == 0);
  CHECK(it.stream.now_in() == stream::phase::idle);
  it.ack(0, 1);
  CHECK_FALSE(it.asks());
  it.lead();
  it.sent();
  it.bring({row(1)});
  CHECK(it.sent() == numbers{1});
}

TEST_CASE(
    "nothing is sent long after the last answer, and one is asked for even when there is nothing to ask") {
  auto limits = stream_script::quick();
  limits.lead_lasts = 7s;
  limits.read.batch = 1;
  limits.batches = 1;
  stream_script it(limits);
  it.lead();
  it.connections[0].full = true;
  it.bring({row(1)});
  CHECK_FALSE(it.asks());
  it.now += 8s;
  it.connections[0].full = false;
  it.wires[0].on_writable();
  CHECK(it.sent().empty());
  CHECK(it.stream.next_at() <= it.now);
  it.ask();
  CHECK(it.asked.save);
  it.answer();
  CHECK(it.sent() == numbers{1});
}

TEST_CASE("an answer proves the lead no longer than its question is old") {
  auto limits = stream_script::quick();
  limits.lead_lasts = 7s;
  stream_script it(limits);
  it.lead();
  it.now += 8s;  // stopped; the answer was in its socket
  it.bring({row(1)});
  CHECK(it.sent().empty());
  CHECK(it.stream.next_at() <= it.now);
  it.stream.ring();
  it.ask();
  CHECK(it.asked.save);
  CHECK_FALSE(it.asked.read);  // it may be slow
  it.answer();
  CHECK(it.sent() == numbers{1});
  it.ask();
  CHECK(it.asked.read);
}

TEST_CASE("who may not send holds up nobody else on the lane") {
  auto limits = stream_script::quick();
  limits.lead_lasts = 7s;
  stream_script it(limits);
  it.lead();
  it.connections[0].full = true;
  it.bring({row(1)});
  it.now += 8s;
  flow::stream other(it.pool, stream_script::quick(), [](const flow::any_notice&) {});
  other.start({{0, {}}, {}}, payload_type::jsonb);
  const auto answer = [&](named_answers with) { other.on_answer(with.in_order_of(*other.next())); };
  answer({});
  answer({});
  named_answers one;
  one.read.answer.saw_all = true;
  one.read.answer.rows = {row(2)};
  answer(one);
  it.connections[0].full = false;
  it.wires[0].on_writable();
  CHECK(it.sent() == numbers{2});
}

}  // namespace flow_stream_drain_test
