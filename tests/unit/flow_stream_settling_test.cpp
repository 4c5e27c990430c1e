// flow_stream_settling_test: what becomes of events that are refused, and of marks that are.
#include <doctest/doctest.h>

#include "flow_stream_script.hpp"

namespace flow_stream_settling_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;
using namespace std::chrono_literals;

namespace {

using numbers = std::vector<int>;

stream_limits with_dead_letters() {
  auto out = stream_script::quick();
  out.dead_letter_exchange = "dead";
  return out;
}

stored_event unencodable(int number, aggregate of = 1) {
  auto out = row(number, of);
  out.what.event_type = "unencodable";
  return out;
}

}  // namespace

TEST_CASE("a returned event waits without an attempt counted, and the rest of its aggregate is parked") {
  stream_script it;
  it.lead();
  it.bring({row(1), row(2), row(3, 2)});
  it.answer(0, 1, verdict::returned, "312 NO_ROUTE");
  it.ask();
  CHECK(it.recorded() == "1 backs off 2 parked ");
  CHECK_FALSE(it.asked.failures[0].counts_attempt);
  CHECK(it.asked.failures[0].code == "returned");
  CHECK(it.asked.failures[0].reason == "returned by the broker: 312 NO_ROUTE");
  CHECK(it.asked.failures[1].code.empty());
  it.answer();
  CHECK(it.stream.held() == 1);
  it.read({row(4)});
  it.ask();
  CHECK(it.recorded() == "4 parked ");
}

TEST_CASE("a failure is told with the destination of its event's route, also behind a dead letter") {
  route rule;
  rule.name = "all";
  rule.exchange = *text_template::parse("shop");
  rule.routing_key = *text_template::parse("{event_type}.x");
  auto limits = with_dead_letters();
  limits.route.routes.push_back(std::make_shared<const route>(std::move(rule)));
  stream_script it(limits);
  it.lead();
  it.bring({row(1), unencodable(2, 2)});
  it.answer(0, 1, verdict::returned, "312");
  REQUIRE(it.connections[0].sent.size() == 2);  // a dead letter travels alone
  CHECK(it.connections[0].sent[1].body == "dead");
  it.answer(0, it.latest(), verdict::acked);
  CHECK(it.failed_at == std::vector<std::string>{"shop/t.x", "shop/unencodable.x"});
}

TEST_CASE("an event of a sampled trace is sent with its span, and its dead letter without") {
  auto limits = with_dead_letters();
  limits.route.spans = true;
  stream_script it(limits);
  it.lead();
  auto good = row(1);
  auto bad = unencodable(2, 2);
  good.what.headers = bad.what.headers =
      R"({"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})";
  it.bring({good, bad});
  it.ack(0, 1);
  REQUIRE(it.connections[0].sent.size() == 2);
  CHECK(it.connections[0].sent[0].traceparent.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-"));
  CHECK(it.connections[0].sent[1].body == "dead");
  CHECK(it.connections[0].sent[1].traceparent.empty());
}

TEST_CASE("what is parked goes out after the head, and then the aggregate is free") {
  stream_script it;
  it.lead();
  it.bring({row(1), row(2)});
  it.wires[0].on_channel_closed(std::vector<token>{1}, {.reason = "406 PRECONDITION_FAILED"});
  it.ask(), it.answer();
  it.now += 5min;
  it.stream.ring();
  it.ask();
  REQUIRE(it.asked.due);
  named_answers due;
  due.due.answer.rows = {row(1, 1, exception::backing_off)};
  it.sent();
  it.answer(due);
  CHECK(it.sent() == numbers{1});
  it.ack(0, it.latest());
  while (it.asks() && it.asked.release.empty()) it.answer();
  named_answers released;
  released.released.answer.rows = {row(2, 1, exception::parked)};
  it.answer(released);
  CHECK(it.sent() == numbers{2});
  CHECK(it.stream.held() == 0);
  it.read({row(3)});
  it.ack(0, it.latest());
  CHECK(it.sent() == numbers{3});
}

TEST_CASE(
    "parked events are looked up after a first read, and stay where they are if it has not passed them") {
  stream_script it;
  it.stream.start({{20, {5, 5, {}}}, {}}, payload_type::jsonb);
  it.ask();
  named_answers page;
  page.held.answer.rows = {{1, false}};
  it.answer(page);
  it.ask();
  CHECK(it.asked.walk_from);
  CHECK(it.asked.release.empty());
  named_answers walked;
  walked.walk.answer.walked_to = 40;
  it.answer(walked);
  it.ask();
  CHECK(it.asked.read);
  CHECK(it.asked.release.empty());
  it.bring({});
  it.ask();
  CHECK(it.asked.release == std::vector<aggregate>{1});
  named_answers released;
  released.released.answer.rows = {row(39, 1, exception::parked), row(41, 1, exception::parked)};
  it.answer(released);
  CHECK(it.sent() == numbers{39});
  CHECK(it.stream.held() == 1);
}

TEST_CASE("nothing parked goes before an earlier one that is still to be recorded") {
  stream_script it;
  it.stream.start({{20, {5, 5, {}}}, {}}, payload_type::jsonb);
  it.ask();
  named_answers page;
  page.held.answer.rows = {{1, false}};
  it.answer(page);
  it.ask();
  it.answer();
  it.ask();
  it.bring({});
  it.stream.ring();
  it.ask();
  REQUIRE(it.asked.read);
  CHECK(it.asked.release == std::vector<aggregate>{1});
  named_answers both;
  both.read.answer.saw_all = true;
  both.read.answer.late = 1;
  both.read.answer.rows = {row(7)};
  both.released.answer.rows = {row(3, 1, exception::parked), row(9, 1, exception::parked)};
  it.answer(both);
  CHECK(it.sent() == numbers{3});
  it.ask();
  CHECK(it.recorded() == "7 parked ");
  it.ack(0, it.latest());
  CHECK(it.sent().empty());
}

TEST_CASE("an event that fails for the last time is dead, and its successor goes when that is written") {
  stream_script it;
  it.lead();
  auto tired = row(1);
  tired.what.attempts = 19;
  it.bring({tired, row(2)});
  it.sent();
  it.wires[0].on_channel_closed(std::vector<token>{1}, {.reason = "406 PRECONDITION_FAILED"});
  it.ask();
  CHECK(it.recorded() == "1 dead ");
  CHECK(it.sent().empty());
  it.answer();
  CHECK(it.sent() == numbers{2});
}

TEST_CASE("a channel that is closed over one of several finds out which, and only that one fails") {
  const refusal bad_message{.reason = "406 PRECONDITION_FAILED"};
  stream_script it;
  it.lead();
  it.bring({row(1, 1), row(2, 2)});
  CHECK(it.sent() == numbers{1, 2});
  it.wires[0].on_channel_closed(std::vector<token>{1, 2}, bad_message);
  CHECK(it.sent() == numbers{1});
  it.ack(0, it.latest());
  CHECK(it.sent() == numbers{2});
  it.wires[0].on_channel_closed(std::vector<token>{it.latest()}, bad_message);
  while (it.asks() && it.asked.failures.empty()) it.answer();
  CHECK(it.recorded() == "2 backs off ");
  CHECK(it.asked.failures[0].code == "channel_closed");
  CHECK(it.asked.failures[0].counts_attempt);
}

TEST_CASE("an event that cannot be encoded is dead at once") {
  stream_script it;
  it.lead();
  it.bring({unencodable(1), row(2)});
  it.ask();
  CHECK(it.recorded() == "1 dead ");
  it.answer();
  CHECK(it.sent() == numbers{2});
}

TEST_CASE(
    "a dead event's letter is sent first, in a form that can be encoded, and its answer decides nothing") {
  for (const verdict what : {verdict::acked, verdict::returned, verdict::nacked}) {
    stream_script it(with_dead_letters());
    it.lead();
    it.bring({unencodable(1), row(2)});
    REQUIRE(it.connections[0].sent.size() == 1);
    CHECK(it.connections[0].sent[0].body == "dead");
    CHECK_FALSE(it.asks());
    it.answer(0, it.latest(), what, "312");
    it.ask();
    CHECK(it.recorded() == "1 dead ");
    CHECK((it.asked.failures[0].reason.find("its dead-letter message") != std::string::npos) ==
          (what != verdict::acked));
  }
}

TEST_CASE("when an event backs off, the dead letter of one behind it goes out") {
  auto limits = with_dead_letters();
  limits.order = order_mode::pipelined;
  stream_script it(limits);
  it.lead();
  it.bring({row(1), unencodable(2)});
  it.wires[0].on_broker_down({.how = ending::connection_closed, .reason = "541"});
  it.wires[0].on_broker_up();  // 1 travels alone from now on, and keeps the letter back
  REQUIRE(it.connections[0].sent.back().body.empty());
  it.answer(0, it.latest(), verdict::returned, "312");
  it.ask();
  CHECK(it.recorded() == "1 backs off ");
  it.answer();
  CHECK(it.connections[0].sent.back().body == "dead");
}

TEST_CASE("while the lead is given up nobody dies without a letter: the next leader sends it") {
  auto last = row(1);
  last.what.attempts = 1'000'000;
  for (const bool with_letters : {true, false}) {
    stream_script it(with_letters ? with_dead_letters() : stream_script::quick());
    it.lead();
    it.bring({last});
    it.stream.drain();
    it.wires[0].on_channel_closed(std::vector<token>{1}, {.reason = "406 PRECONDITION_FAILED"});
    it.ask();
    CHECK(it.recorded() == (with_letters ? "1 backs off " : "1 dead "));
    CHECK(it.asked.failures[0].counts_attempt == !with_letters);
  }
}

TEST_CASE("rows that have moved are marked by id") {
  stream_script it;
  it.lead();
  it.bring({row(1)});
  it.ack(0, 1);
  it.ask();
  CHECK(it.asked.marks.places.size() == 1);
  CHECK(it.asked.marks.lowest == 1);
  CHECK(it.asked.marks.highest == 1);
  named_answers missed;
  missed.marks.result = write_result::missed;
  it.answer(missed);
  it.ask();
  CHECK(it.marked() == numbers{1});
  CHECK(it.asked.marks.mode == mark_mode::by_key);
  CHECK(it.asked.marks.places.empty());
  it.answer();
  CHECK(it.stream.events().size() == 0);
}

TEST_CASE("rows that somebody has locked are marked later, the others now") {
  stream_script it;
  it.lead();
  it.bring({row(1, 1), row(2, 2)});
  const std::vector<outcome> both{{1, verdict::acked, {}}, {2, verdict::acked, {}}};
  it.wires[0].on_outcomes(both);
  it.ask();
  named_answers locked;
  locked.marks.result = write_result::deferred;
  it.answer(locked);
  CHECK_FALSE(it.asks());
  it.now = it.stream.next_at();
  it.ask();
  CHECK(it.asked.marks.mode == mark_mode::unlocked);
  named_answers left;
  left.marks.left = {key_of(2)};
  it.answer(left);
  CHECK(it.stream.events().size() == 1);
  it.now = it.stream.next_at();
  it.ask();
  CHECK(it.marked() == numbers{2});
}

TEST_CASE("how old an event is at its confirm is told by the server's clock, once that is known") {
  stream_script it;
  it.lead();
  it.bring({row(1)});
  it.ack(0, it.latest());
  CHECK(it.delivered.empty());

  constexpr timestamp noon{std::chrono::microseconds(1'700'000'000'000'000)};
  auto young = row(2);
  young.what.created_at = noon - 30ms;
  it.stream.sweep();
  it.ask();
  REQUIRE(it.asked.read);
  CHECK(it.asked.read->with_summary);
  named_answers out;
  out.read.answer = {
      .now = {9, 9, {}}, .saw_all = true, .top = 2, .late_low = {}, .rows = {young}, .server_time = noon};
  it.answer(std::move(out));
  it.now += 70ms;
  it.ack(0, it.latest());
  CHECK(it.delivered == std::vector<std::chrono::microseconds>{100ms});
}

}  // namespace flow_stream_settling_test
