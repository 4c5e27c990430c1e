// flow_stream_pipelined_test: in pipelined order, what backs off and what waits behind it.
#include <doctest/doctest.h>

#include <algorithm>

#include "flow_stream_script.hpp"

namespace flow_stream_pipelined_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;
using namespace std::chrono_literals;

namespace {

using numbers = std::vector<int>;

stream_limits pipelined() {
  auto out = stream_script::quick();
  out.order = order_mode::pipelined;
  out.fresh_for = 1s;
  return out;
}

// 1 is in flight, 2 is looked at, and 4 is at the lane, which may send one in 100 ms and has sent 3.
struct looked_at : stream_script {
  looked_at() : stream_script(pipelined(), 1, {}, flow::rate_limit(10)) {
    lead();
    bring({row(1)});
    connections[0].full = true;
    read({row(2)});
    now += 900ms;
    read({row(3, 2), row(4)});
    now += 200ms;
    connections[0].full = false;
    wires[0].on_writable();
  }
};

}  // namespace

TEST_CASE(
    "in pipelined order one that is refused behind an unsettled one is sent again when it is the first") {
  stream_script it(pipelined());
  it.lead();
  it.bring({row(1), row(2)});
  CHECK(it.sent() == numbers{1, 2});
  it.answer(0, 2, verdict::returned, "312");
  CHECK_FALSE((it.asks() && !it.asked.failures.empty()));
  CHECK(it.failed.empty());
  it.ack(0, 1);
  CHECK(it.sent() == numbers{2});
  it.answer(0, it.latest(), verdict::returned, "312");
  CHECK(it.failed.size() == 1);
}

TEST_CASE("in pipelined order one of a paused type waits in memory for what is before it") {
  stream_script it(pipelined());
  it.lead(), it.bring({});
  it.stream.ring_pauses();
  it.ask();
  named_answers told;
  told.pauses.answer = {{{paused_part::event_type, "u", {}, {}}}, {}};
  it.answer(std::move(told));
  auto paused = row(2);
  paused.what.event_type = "u";
  it.read({row(1), paused});
  CHECK(it.sent() == numbers{1});
  CHECK_FALSE((it.asks() && !it.asked.failures.empty()));
  it.ack(0, 1);
  it.ask();
  CHECK(it.recorded() == "2 backs off ");
}

TEST_CASE_FIXTURE(looked_at, "in pipelined order what is parked is not overtaken by one that a lane has") {
  sent();
  answer(0, 1, verdict::returned, "312");
  ask();
  CHECK(recorded() == "1 backs off 4 parked ");
  answer();
  for (int i = 0; i < 5; ++i) {
    now += 100ms;
    pool.pump();
    if (asks()) answer();
  }
  const auto out = sent();
  CHECK(std::find(out.begin(), out.end(), 4) == out.end());
}

}  // namespace flow_stream_pipelined_test
