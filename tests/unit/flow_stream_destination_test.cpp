// flow_stream_destination_test: events that their destination does not take, and probes.
#include <doctest/doctest.h>

#include <map>

#include "flow_stream_script.hpp"

namespace flow_stream_destination_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;
using namespace std::chrono_literals;

namespace {

using numbers = std::vector<int>;

}  // namespace

TEST_CASE("a nacked event waits for its destination, and no attempt is counted") {
  stream_script it;
  it.lead();
  it.bring({row(1)});
  it.answer(0, 1, verdict::nacked);
  it.ask();
  CHECK(it.recorded() == "1 backs off ");
  const failure_record& how = it.asked.failures[0];
  CHECK_FALSE(how.counts_attempt);
  CHECK(how.code == "nacked");
  CHECK(how.waits_for == id_of(destination{"outbox", "t"}));
  CHECK(how.exchange == "outbox");
  CHECK(how.routing_key == "t");
  CHECK(how.delay == 24h);
  it.answer();
  CHECK(it.stream.events().size() == 0);
}

TEST_CASE(
    "what probes its destination and fails again is not written, and is dead when its time has passed") {
  stream_script it;
  it.lead();
  it.bring({row(1)});
  it.answer(0, 1, verdict::returned, "312");
  it.ask();
  CHECK(it.recorded() == "1 backs off ");
  it.answer();
  it.now += 500ms;
  it.ask();
  REQUIRE(it.asked.waiting.size() == 1);
  CHECK_FALSE(it.asked.waiting[0].all);
  auto waits = row(1, 1, exception::backing_off);
  waits.waits_for = id_of(destination{"outbox", "t"});
  waits.first_failed_at = timestamp(1h);
  const auto probe = [&](timestamp now) {
    it.stream.on_server_time(it.now, now);
    named_answers found;
    found.waiting.answer.rows = {waits};
    it.answer(found);
    REQUIRE(it.sent().back() == 1);
    it.answer(0, it.latest(), verdict::returned, "312");
  };
  probe(timestamp(24h));
  CHECK(it.stream.events().size() == 0);
  it.now += 1s;
  it.ask();
  CHECK(it.recorded().empty());
  REQUIRE(it.asked.waiting.size() == 1);
  probe(timestamp(25h));
  it.ask();
  CHECK(it.recorded() == "1 dead ");
  CHECK(it.asked.failures[0].reason == "given up after 86400 s: returned by the broker: 312");
}

TEST_CASE("a probe that is not confirmed has failed, and is not sent once more") {
  stream_script it;
  it.lead();
  it.bring({row(1)});
  it.answer(0, 1, verdict::returned, "312");
  it.ask();
  it.answer();
  it.now += 500ms;
  it.ask();
  auto waits = row(1, 1, exception::backing_off);
  waits.waits_for = id_of(destination{"outbox", "t"});
  named_answers found;
  found.waiting.answer.rows = {waits};
  it.answer(found);
  REQUIRE(it.sent().back() == 1);
  it.now += 10s;
  it.wires[0].check();
  it.wires[0].on_broker_down({});
  it.wires[0].on_broker_up();
  CHECK(it.sent().empty());
  CHECK(it.stream.events().size() == 0);
  it.ask();
  CHECK(it.recorded().empty());
  CHECK(it.asked.waiting.empty());
}

TEST_CASE("an overdue confirm backs off its event alone") {
  stream_script it;
  it.lead();
  it.bring({row(1, 1), row(2, 2)});
  it.now += 9s;
  it.ack(0, 2);
  it.now += 10s;
  it.pool.check_deadlines();
  while (it.asks() && it.asked.failures.empty()) it.answer();
  CHECK(it.recorded() == "1 backs off ");
  CHECK(it.asked.failures[0].code == "unconfirmed");
}

TEST_CASE("what is not confirmed on two connections backs off, and no attempt is counted") {
  stream_script it;
  it.lead();
  it.bring({row(1, 1), row(2, 2)});
  const auto fall_silent = [&] {
    it.now += 10s;
    it.wires[0].check();
    it.wires[0].on_broker_down({});
    it.wires[0].on_broker_up();
  };
  fall_silent();
  CHECK(it.sent() == numbers{1, 2, 1, 2});
  it.read({row(3, 3)});
  it.sent();
  fall_silent();
  CHECK(it.sent().empty());  // it goes where they went
  it.ask();
  CHECK(it.recorded() == "1 backs off 2 backs off 3 backs off ");
  CHECK(it.asked.failures[0].code == "unconfirmed");
  CHECK_FALSE(it.asked.failures[0].counts_attempt);
}

TEST_CASE("what of its destination was refused is recorded with the failure, for the next leader") {
  for (const auto& [refused, scope] :
       std::map<refused_part, failure_scope>{{refused_part::exchange, failure_scope::exchange},
                                             {refused_part::permission, failure_scope::exchange},
                                             {refused_part::topic, failure_scope::topic}}) {
    stream_script it;
    it.lead();
    it.bring({row(1)});
    it.ack(0, it.latest());
    it.read({row(2)});
    CHECK(it.sent() == numbers{1, 2});
    it.wires[0].on_channel_closed(std::vector<token>{it.latest()}, {.reason = "no", .part = refused});
    REQUIRE(it.failed.size() == 1);
    CHECK(it.failed[0].code == "refused");
    CHECK_FALSE(it.failed[0].counts_attempt);
    CHECK(it.failed[0].scope == scope);
  }
}

}  // namespace flow_stream_destination_test
