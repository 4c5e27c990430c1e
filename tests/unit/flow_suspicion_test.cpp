// flow_suspicion_test: who is to blame when the broker ends channels and connections, and that nobody else
// is.
#include "flow/dispatch/suspicion.hpp"

#include <doctest/doctest.h>

#include "flow_stream_script.hpp"

namespace flow_suspicion_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;

namespace {

using numbers = std::vector<int>;

const interruption crash{ending::connection_closed, "541 INTERNAL_ERROR"};
const interruption silence{ending::silent};

// One lane, whose connection ends and comes back.
struct reconnecting : stream_script {
  using stream_script::stream_script;
  void end(const interruption& why) {
    wires[0].on_broker_down(why);
    wires[0].on_broker_up();
  }
  // What is recorded next.
  std::string next_record() {
    while (asks() && asked.failures.empty()) stream_script::answer();
    return recorded();
  }
};

}  // namespace

TEST_CASE(
    "suspicion grows with each end of a channel or connection, and only one that was alone is to blame") {
  struct {
    suspicion before;
    ending how;
    bool alone;
    suspicion now;
    bool blamed;
  } const all[] = {
      {suspicion::none, ending::blameless, true, suspicion::none, false},
      {suspicion::suspect, ending::blameless, true, suspicion::suspect, false},
      {suspicion::dropped, ending::blameless, true, suspicion::dropped, false},
      {suspicion::none, ending::channel_closed, false, suspicion::suspect, false},
      {suspicion::none, ending::channel_closed, true, suspicion::suspect, true},
      {suspicion::none, ending::connection_closed, false, suspicion::once, false},
      {suspicion::once, ending::connection_closed, false, suspicion::suspect, false},
      {suspicion::none, ending::connection_closed, true, suspicion::suspect, false},
      {suspicion::once, ending::connection_closed, true, suspicion::suspect, false},
      {suspicion::suspect, ending::connection_closed, true, suspicion::suspect, true},
      {suspicion::dropped, ending::connection_closed, true, suspicion::suspect, true},
      {suspicion::none, ending::silent, false, suspicion::once, false},
      {suspicion::once, ending::silent, false, suspicion::suspect, false},
      {suspicion::none, ending::silent, true, suspicion::dropped, false},
      {suspicion::suspect, ending::silent, true, suspicion::dropped, false},
      {suspicion::dropped, ending::silent, true, suspicion::dropped, true},
  };
  for (const auto& one : all) {
    CAPTURE(static_cast<int>(one.before));
    CAPTURE(static_cast<int>(one.how));
    CAPTURE(one.alone);
    const auto after = suspicion_after(one.before, one.how, one.alone);
    CHECK(after.now == one.now);
    CHECK(after.blamed == one.blamed);
  }
}

TEST_CASE("a connection that is closed twice over one of several: each travels alone, and one is to blame") {
  reconnecting it;
  it.lead();
  it.bring({row(1, 1), row(2, 2), row(3, 3)});
  CHECK(it.sent() == numbers{1, 2, 3});
  it.end(crash);
  CHECK(it.sent().size() == 3);
  it.end(crash);
  const auto first = it.sent();
  REQUIRE(first.size() == 1);
  it.ack(0, it.latest());
  const auto second = it.sent();
  REQUIRE(second.size() == 1);
  it.end(crash);
  CHECK(it.next_record() == fmt::format("{} backs off ", second[0]));
  CHECK(it.asked.failures[0].code == "connection_closed");
  CHECK(it.asked.failures[0].reason == "the broker closed the connection over it: 541 INTERNAL_ERROR");
  CHECK(it.asked.failures[0].counts_attempt);
  CHECK(it.sent().size() == 1);
}

TEST_CASE("a connection that is gone twice without a word, with the same event alone in flight") {
  reconnecting it;
  it.lead();
  it.bring({row(1, 1)});
  it.end(silence);
  CHECK(it.sent() == numbers{1, 1});
  it.end(silence);
  CHECK(it.next_record() == "1 backs off ");
  CHECK(it.asked.failures[0].code == "connection_closed");
}

TEST_CASE("a broker that dies takes all lanes with it, and blames nobody whom they passed on") {
  stream_script it{stream_script::quick(), 3};
  it.lead();
  it.now += std::chrono::seconds(1);
  it.bring({row(1, 1)});
  int ends = 0;
  // Whichever lane has it is the next to end.
  for (int i = 0; i < 3; ++i)
    for (std::size_t one = 0; one < it.wires.size(); ++one)
      if (it.wires[one].in_flight() == 1) {
        it.now += std::chrono::milliseconds(1);
        it.wires[one].on_broker_down(silence);
        ++ends;
      }
  CHECK(ends >= 3);
  CHECK(it.failed.empty());
  // Connections that are new since then do tell.
  it.wires[0].on_broker_up();
  REQUIRE(it.wires[0].in_flight() == 1);
  it.wires[0].on_broker_down(silence);
  REQUIRE(it.failed.size() == 1);
  CHECK(it.failed[0].code == "connection_closed");
}

TEST_CASE("a broker that shuts down blames nobody, however often") {
  reconnecting it;
  it.lead();
  it.bring({row(1, 1), row(2, 2)});
  for (int i = 0; i < 10; ++i) {
    CHECK(it.sent().size() == 2);
    it.end({});
  }
  CHECK(it.failed.empty());
}

TEST_CASE("suspicion lasts across connections, lanes and reads, and ends with an ack") {
  reconnecting it;
  it.lead();
  it.bring({row(1, 1), row(2, 2)});
  it.end(crash);
  it.ack(0, it.connections[0].sent[3].name);  // the later one of the two
  it.sent();
  it.read({row(3, 3)});
  CHECK(it.sent() == numbers{3});
  it.end(crash);  // the other was in flight twice, and 3 once
  it.ack(0, it.connections[0].sent[5].name);
  it.end(crash);
  CHECK(it.failed.size() == 0);
}

TEST_CASE("an event over which a connection was closed at an earlier attempt travels alone from the start") {
  reconnecting it;
  it.lead();
  auto one = row(1, 1);
  one.suspect = true;
  it.bring({one, row(2, 2)});
  CHECK(it.sent().size() == 1);
  it.end(crash);
  CHECK(it.next_record().find("1 backs off") != std::string::npos);
}

TEST_CASE("in pipelined order nothing of its aggregate is sent behind one that travels alone") {
  auto limits = stream_script::quick();
  limits.order = order_mode::pipelined;
  reconnecting it(limits);
  it.lead();
  it.bring({row(1), row(2), row(3)});
  CHECK(it.sent() == numbers{1, 2, 3});
  it.end(crash);
  CHECK(it.sent() == numbers{1, 2, 3});
  it.end(crash);
  CHECK(it.sent() == numbers{1});
  it.ack(0, it.latest());
  CHECK(it.sent() == numbers{2});
  it.end(crash);
  CHECK(it.next_record() == "2 backs off 3 parked ");
}

}  // namespace flow_suspicion_test
