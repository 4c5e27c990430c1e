// flow_lane_silence_test: how long a lane waits for confirms, of one message and of any, and what it does
// then.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "flow/dispatch/lane.hpp"
#include "flow_lane_script.hpp"

namespace flow_lane_silence_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(lane_script, "when no confirm comes at all the connection is dropped") {
  send({1});
  ack(0, 1);
  send({2});
  CHECK(line.deadline() == now + 10s);
  now += 10s - 1ms;
  line.check();
  CHECK(connections[0].dropped.empty());
  now += 1ms;
  line.check();
  CHECK(connections[0].dropped.size() == 1);
}

TEST_CASE_FIXTURE(lane_script, "what was in flight is told why the lane has given its connection up") {
  send({1});
  line.on_broker_down({.how = ending::silent});
  CHECK(whose.why().how == ending::silent);
  line.on_broker_up();
  send({1});
  now += 10s;
  line.check();
  CHECK(line.now_in() == lane::state::dropped);
  line.on_blocked(false);  // this comes too late
  send({2});
  CHECK(connections[0].sent.size() == 2);
  line.on_broker_down({.how = ending::blameless});
  CHECK(whose.why().how == ending::unconfirmed);
  line.on_broker_up();
  send({1});
  CHECK(connections[0].sent.size() == 3);
}

TEST_CASE_FIXTURE(lane_script,
                  "one that has never confirmed anything is dropped sooner, and its followers later") {
  for (const auto time_limit : {3'500ms, 7'000ms, 10'000ms, 10'000ms}) {
    send({1});
    CHECK(line.deadline() == now + time_limit);
    now += time_limit;
    line.check();
    line.on_broker_down({ending::blameless, "dropped"});
    line.on_broker_up();
  }
  CHECK(connections[0].dropped.size() == 4);
  send({1});
  ack(0, names().back());
  line.on_broker_down({ending::blameless, "closed"});
  line.on_broker_up();
  send({1});
  CHECK(line.deadline() == now + 3'500ms);
}

namespace {

struct clustered : lane_script {
  clustered() { connections[0].hosts = 3; }
  void confirm_one(clock::duration after = 0s) {
    send({1});
    now += after;
    line.check();
    ack(0, names().back());
  }
  void fall_silent_for(clock::duration time_limit) {
    send({1});
    CHECK(line.deadline() == now + time_limit);
    now += time_limit;
    line.check();
    line.on_broker_down({ending::blameless, "dropped"});
    line.on_broker_up();
  }
};

}  // namespace

TEST_CASE_FIXTURE(
    clustered,
    "one that falls silent is dropped sooner where there are other nodes, and later when all were tried") {
  confirm_one();
  for (const auto time_limit : {3'500ms, 7'000ms, 10'000ms, 10'000ms})
    for (int i = 0; i < connections[0].hosts; ++i) fall_silent_for(time_limit);
  CHECK(connections[0].dropped.size() == 12);
  confirm_one();
  fall_silent_for(3'500ms);
}

TEST_CASE_FIXTURE(clustered, "a broker that is only slow is not dropped again and again") {
  confirm_one();
  for (int i = 0; i < connections[0].hosts; ++i) fall_silent_for(3'500ms);
  for (int i = 0; i < 20; ++i) confirm_one(5s);
  CHECK(connections[0].dropped.size() == 3);
  confirm_one(1s);
  fall_silent_for(3'500ms);
}

TEST_CASE_FIXTURE(clustered, "one that confirms now and then is not silent, however late each confirm is") {
  confirm_one();
  send({1, 2, 3, 4, 5, 6, 7, 8});
  for (const token one : names(1)) {
    now += 2s;
    line.check();
    ack(0, one);
  }
  CHECK(connections[0].dropped.empty());
}

// The node that led a quorum queue is gone: first this queue alone is silent, then the whole channel.
TEST_CASE_FIXTURE(clustered, "one that is overtaken does not hide that nothing is confirmed any more") {
  confirm_one();
  send({1, 2});
  ack(0, names().back());
  CHECK(line.deadline() == now + 10s);
  now += 1s;
  send({3});
  CHECK(line.deadline() == now + 3'500ms);
  now += 3'500ms;
  line.check();
  CHECK(connections[0].dropped.size() == 1);
}

TEST_CASE_FIXTURE(clustered, "silence of a broker that takes nothing for now moves nobody") {
  confirm_one();
  send({1});
  line.on_blocked(true);
  CHECK_FALSE(line.deadline());
  now += 1min;
  line.on_blocked(false);
  CHECK(line.deadline() == now + 3'500ms);
}

TEST_CASE_FIXTURE(lane_script, "when others are confirmed nobody waits any longer for the one that is not") {
  send({1, 2});
  now += 9s;
  send({3});
  ack(0, 2);
  CHECK(line.deadline() == now + 10s);
  now += 5s;
  send({4});
  ack(0, 3);
  whose.take();
  now += 5s - 1ms;
  line.check();
  CHECK(whose.take().empty());
  now += 1ms;
  line.check();
  CHECK(whose.take() == "overdue 1 ");
  CHECK(connections[0].dropped.empty());
  ack(0, 1);  // too late
  CHECK(whose.take().empty());
  CHECK(line.in_flight() == 1);
}

TEST_CASE_FIXTURE(lane_script, "refusals alone, one after the other and slow, keep no connection") {
  send({1, 2, 3});
  now += 2'500ms;
  answer(0, 1, verdict::nacked);
  CHECK(line.now_in() == lane::state::renewing);
  now += 1s;
  line.check(), line.check();
  CHECK(connections[0].dropped.size() == 1);
}

TEST_CASE_FIXTURE(lane_script, "a broker that confirms slowly, one after the other, is waited for") {
  send({9});
  ack(0, 1);
  send({1, 2, 3, 4, 5, 6, 7, 8});
  whose.take();
  for (slot one = 1; one <= 8; ++one) {
    now += 9s;
    line.check();
    ack(0, one + 1);
    CHECK(whose.take() == fmt::format("acked {} ", one));
  }
  CHECK(connections[0].dropped.empty());
  CHECK(line.in_flight() == 0);
}

TEST_CASE_FIXTURE(lane_script, "a slow broker that falls silent is dropped") {
  send({1, 2, 3});
  now += 30s;
  ack(0, 1);
  CHECK(line.deadline() == now + 10s);
  now += 10s;
  line.check();
  CHECK(connections[0].dropped.size() == 1);
}

TEST_CASE_FIXTURE(lane_script, "a connection whose room is taken up by what nobody waits for is dropped") {
  send({1, 2});
  now += 9s;
  ack(0, 2);
  now += 10s;
  line.check();
  connections[0].full = true;
  send({3});
  CHECK(line.deadline() == now + 10s);
  now += 10s;
  line.check();
  CHECK(connections[0].dropped.size() == 1);
}

}  // namespace flow_lane_silence_test
