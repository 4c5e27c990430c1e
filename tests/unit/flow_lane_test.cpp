// flow_lane_test: what is sent when, and what becomes of it when the broker refuses, closes, hangs or goes.
#include "flow/dispatch/lane.hpp"

#include <doctest/doctest.h>

#include "flow_lane_script.hpp"

namespace flow_lane_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(lane_script, "what is offered is sent in order, and its confirms may come in any") {
  send({1, 2, 3});
  CHECK(whose.take() == "sent 1 sent 2 sent 3 ");
  CHECK(line.in_flight() == 3);
  ack(0, 3);
  answer(0, 1, verdict::nacked);
  answer(0, 2, verdict::returned, "312 NO_ROUTE");
  CHECK(whose.take() == "acked 3 nacked 1 returned 2 ");
  CHECK(line.in_flight() == 0);
  ack(0, 2);  // repeated, and of nothing
  ack(0, 77);
  CHECK(whose.take().empty());
}

TEST_CASE_FIXTURE(lane_script, "a full connection is tried again when it has room") {
  connections[0].full = true;
  send({1});
  CHECK(whose.take().empty());
  connections[0].full = false;
  line.on_writable();
  CHECK(whose.take() == "sent 1 ");
}

TEST_CASE_FIXTURE(lane_script, "a message that cannot be encoded stops no other") {
  send({99, 2});
  CHECK(whose.take() == "unencodable 99 sent 2 ");
}

TEST_CASE_FIXTURE(lane_script,
                  "a suspect travels alone: nothing before it is in flight, nothing is sent behind it") {
  send({1});
  offer(2, true);
  offer(3);
  line.pump();
  CHECK(whose.take() == "sent 1 ");
  ack(0, 1);
  CHECK(whose.take() == "acked 1 sent 2 ");
  ack(0, 2);
  CHECK(whose.take() == "acked 2 sent 3 ");
}

TEST_CASE_FIXTURE(lane_script, "those that travel alone and all others take turns") {
  send({1});
  for (const slot one : {11, 12, 13}) offer(one, true);
  for (const slot one : {2, 3}) offer(one);
  line.pump();
  CHECK(whose.take() == "sent 1 ");
  ack(0, 1);
  CHECK(whose.take() == "acked 1 sent 11 ");
  offer(4);  // after 11 was sent: it waits for its turn
  ack(0, 2);
  CHECK(whose.take() == "acked 11 sent 2 sent 3 ");
  ack(0, 3);
  ack(0, 4);
  CHECK(whose.take() == "acked 2 acked 3 sent 12 ");
  ack(0, 5);
  CHECK(whose.take() == "acked 12 sent 4 ");
  ack(0, 6);
  CHECK(whose.take() == "acked 4 sent 13 ");
}

TEST_CASE_FIXTURE(lane_script, "with the channel goes what was sent on it, and what waited is given back") {
  send({1});
  line.on_channel_closed(names(), no_exchange);
  CHECK(whose.take() == "sent 1 interrupted alone 1 changed ");
  CHECK(whose.why().how == ending::channel_closed);
  CHECK(whose.why().reason == "404 NOT_FOUND");
  CHECK(line.in_flight() == 0);
  send({2, 3});
  connections[0].full = true;
  send({4});
  whose.take();
  line.on_channel_closed(names(1), no_exchange);
  CHECK(whose.take() == "unsent 4 interrupted 2 interrupted 3 changed ");
  CHECK(line.now_in() == lane::state::open);
  CHECK(line.waiting() == 0);
}

TEST_CASE_FIXTURE(lane_script,
                  "a login that is not fresh is made again before a refused right is the event's fault") {
  for (const auto part : {refused_part::permission, refused_part::topic}) {
    const refusal forbidden{.reason = "403 ACCESS_REFUSED", .part = part};
    line.on_broker_up();
    send({1});
    whose.take();
    line.on_channel_closed(names(), forbidden);
    CHECK(whose.take() == "interrupted alone 1 changed ");
    now += 11s;
    send({2});
    whose.take();
    line.on_channel_closed(names(), forbidden);
    CHECK(whose.take() == "interrupted 2 changed ");
    CHECK(whose.why().part == part);
    CHECK(connections[0].dropped.back() == "403 ACCESS_REFUSED; logging in again");
    line.on_broker_down({});
  }
}

TEST_CASE_FIXTURE(lane_script,
                  "with the connection goes what was sent on it, and what waited is given back") {
  send({1, 2});
  ack(0, 1);
  offer(3);
  offer(4, true);
  whose.take();
  line.on_broker_down({.how = ending::silent});
  CHECK(whose.take() == "unsent 4 unsent 3 interrupted alone 2 changed ");
  CHECK(whose.why().how == ending::silent);
  CHECK(line.now_in() == lane::state::down);
  ack(0, 2);
  CHECK(whose.take().empty());
}

TEST_CASE_FIXTURE(lane_script, "the time while the broker takes nothing counts against nobody") {
  send({1});
  line.on_blocked(true);
  offer(2);
  line.pump();
  CHECK(whose.take() == "sent 1 changed ");
  CHECK_FALSE(line.deadline());
  now += 1min;
  line.on_blocked(false);
  CHECK(whose.take() == "changed sent 2 ");
  line.check();
  CHECK(whose.take().empty());
  CHECK(connections[0].dropped.empty());
}

TEST_CASE_FIXTURE(lane_script, "who withdraws gets back what is not sent, and still waits for the rest") {
  send({1});
  connections[0].full = true;
  send({2});
  whose.take();
  line.withdraw(whose, [](slot) { return true; });
  CHECK(whose.take() == "unsent 2 ");
  ack(0, 1);
  CHECK(whose.take() == "acked 1 ");
}

TEST_CASE_FIXTURE(lane_script, "who is forgotten hears nothing more") {
  send({1});
  line.forget(whose);
  ack(0, 1);
  line.on_channel_closed({}, no_exchange);
  CHECK(whose.take() == "sent 1 changed ");
  CHECK(line.in_flight() == 0);
}

TEST_CASE(
    "an aggregate stays on its lane while events of it are there, and goes to another when it is down") {
  scripted_lanes three(3);
  notes whose;
  const aggregate of = std::int64_t{7} << 32;
  const auto home = three.pool.offer({&whose, 1}, of, -1);
  REQUIRE(home);
  CHECK(*home == 7 % 3);
  three.wires[static_cast<std::size_t>(*home)].on_broker_down({});
  CHECK_FALSE(three.pool.offer({&whose, 2}, of, *home));
  const auto other = three.pool.offer({&whose, 2}, of, -1);
  CHECK(other == (*home + 1) % 3);
  three.wires[static_cast<std::size_t>(*home)].on_broker_up();
  CHECK(three.pool.offer({&whose, 3}, of, *other) == *other);
}

TEST_CASE_FIXTURE(lane_script, "the time from a publish to its ack is noted, and that of a nack is not") {
  send({1, 2});
  now += 30ms;
  ack(0, 1);
  answer(0, 2, verdict::nacked);
  CHECK(pool.publish_times().count() == 1);
  CHECK(pool.publish_times().sum() == doctest::Approx(0.03));
  send({3});
  now += 20ms;
  CHECK(pool.oldest_in_flight() == now - 20ms);
  ack(0, 3);
  CHECK_FALSE(pool.oldest_in_flight());
}

namespace {

struct refusing : lane_script {
  void refuse(slot which = 1) {
    send({which});
    answer(0, names().back(), verdict::nacked);
  }
  // The connection is of use, though not to slot 1.
  void confirm_another() {
    send({2});
    ack(0, names().back());
  }
  std::size_t renewals() const { return connections[0].dropped.size(); }
  void come_back() {
    line.on_broker_down({ending::silent, "dropped"});
    line.on_broker_up();
  }
};

}  // namespace

TEST_CASE_FIXTURE(refusing, "what is refused for half a second is tried on a new connection") {
  confirm_another();
  refuse();
  now += 499ms;
  refuse();
  CHECK(renewals() == 0);
  now += 1ms;
  refuse();
  REQUIRE(renewals() == 1);
  whose.take();
  come_back();
  CHECK(whose.take().find("interrupted") == std::string::npos);
  confirm_another();

  SUBCASE("one that did not help is followed by the next after twice the time, and a minute at most") {
    for (const auto pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
      const auto before = renewals();
      refuse();
      now += pause - 1ms;
      refuse();
      CHECK(renewals() == before);
      now += 1ms;
      refuse();
      CHECK(renewals() == before + 1);
      come_back();
      confirm_another();
    }
  }
  SUBCASE("a queue that takes one now and then is not asked on a new one each time") {
    for (int i = 0; i < 50; ++i) {
      refuse();
      now += 900ms;
      refuse();
      send({1});
      ack(0, names().back());
    }
    CHECK(renewals() == 1);
  }
  SUBCASE("after a quiet minute the pauses are short again") {
    send({1});
    ack(0, names().back());
    now += 1min;
    refuse();
    now += 500ms;
    refuse();
    CHECK(renewals() == 2);
  }
}

TEST_CASE_FIXTURE(refusing, "a connection on which nothing is confirmed is renewed each second") {
  refuse();
  now += 500ms;
  refuse();
  CHECK(renewals() == 1);
  for (std::size_t i = 1; i < 10; ++i) {
    come_back();
    refuse();
    now += 999ms;
    refuse();
    CHECK(renewals() == i);
    now += 1ms;
    refuse();
    CHECK(renewals() == i + 1);
  }
}

// A probe is the first message on a new connection.
TEST_CASE_FIXTURE(refusing,
                  "a connection that refuses one message and confirms the next is renewed no sooner") {
  confirm_another();
  for (const auto pause : {500ms, 1'000ms, 2'000ms, 4'000ms, 8'000ms, 16'000ms, 32'000ms, 60'000ms}) {
    const auto before = renewals();
    refuse();
    confirm_another();
    now += pause - 1ms;
    confirm_another();
    CHECK(renewals() == before);
    now += 1ms;
    refuse();
    CHECK(renewals() == before + 1);
    come_back();
  }
}

TEST_CASE_FIXTURE(refusing, "others' confirms do not hide a destination that is refused for long") {
  for (int tenth = 0; tenth <= 5; ++tenth, now += 100ms) {
    send({1, 2});
    const auto both = names(connections[0].sent.size() - 2);
    answer(0, both[0], verdict::nacked);
    CHECK(renewals() == 0);
    ack(0, both[1]);
  }
  CHECK(renewals() == 1);
}

TEST_CASE_FIXTURE(lane_script,
                  "a connection is renewed when nothing is in flight on it, and nobody waits long for that") {
  send({1});
  answer(0, names().back(), verdict::nacked);
  now += 500ms;
  send({2, 1});
  const auto both = names(1);
  answer(0, both[1], verdict::nacked);
  CHECK(line.now_in() == lane::state::renewing);
  send({3});
  whose.take();
  SUBCASE("it is given up when the last one is confirmed") {
    ack(0, both[0]);
    CHECK(connections[0].dropped.size() == 1);
    CHECK(whose.take() == "acked 2 ");
    line.on_broker_down({ending::silent, "dropped"});
    CHECK(whose.take() == "unsent 3 changed ");
  }
  SUBCASE("so it is when the broker closes the channel over it") {
    line.on_channel_closed(both, no_exchange);
    CHECK(connections[0].dropped.size() == 1);
  }
  SUBCASE("one that is not confirmed keeps it") {
    REQUIRE(line.deadline() == now + 1s);
    now += 1s;
    pool.check_deadlines();
    CHECK(line.now_in() == lane::state::open);
    CHECK(whose.take() == "sent 3 ");
    CHECK(connections[0].dropped.empty());
  }
}

TEST_CASE("when all of many destinations are refused, another node is tried, if there is one") {
  for (const int hosts : {1, 2}) {
    lane_script on;
    on.connections[0].hosts = hosts;
    on.send({4});
    on.ack(0, on.names().back());
    for (const slot one : {1, 2, 3}) {
      on.send({one});
      on.answer(0, on.names().back(), verdict::nacked);
      on.now += 500ms;
    }
    CHECK(on.connections[0].dropped.size() == (hosts > 1 ? 1 : 0));
  }
}

}  // namespace flow_lane_test
