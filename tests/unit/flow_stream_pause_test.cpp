// flow_stream_pause_test: what becomes of events while their type, or everything, is paused, and after that.
#include <doctest/doctest.h>

#include "flow_stream_script.hpp"

namespace flow_stream_pause_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;
using namespace std::chrono_literals;

namespace {

using numbers = std::vector<int>;

const flow::pause everything{paused_part::everything, {}, {}, {}};
const flow::pause all_t{paused_part::event_type, "t", {}, {}};
const flow::pause all_u{paused_part::event_type, "u", {}, {}};

const flow::pause all_gone{paused_part::exchange, "gone*", {}, {}};
const flow::pause all_late{paused_part::routing_key, "*.late", {}, {}};

stored_event to(int number, std::string_view exchange, std::string_view routing_key, aggregate of,
                exception from = exception::none) {
  auto out = row(number, of, from);
  out.what.exchange = exchange;
  out.what.routing_key = routing_key;
  return out;
}

// Events of type u go to the exchange "gone.by.route".
routing by_type() {
  routing out;
  auto one = std::make_shared<route>();
  one->name = "of u";
  one->event_type = glob("u");
  one->exchange = *text_template::parse("gone.by.route");
  out.routes.push_back(std::move(one));
  return out;
}

stored_event of_type(int number, const char* type, aggregate of = 1, exception from = exception::none) {
  auto out = row(number, of, from);
  out.what.event_type = type;
  return out;
}

// Rings, and tells what is paused.
void tell(stream_script& it, std::vector<flow::pause> in_force,
          std::optional<std::chrono::milliseconds> end = {}) {
  it.stream.ring_pauses();
  it.ask();
  REQUIRE(it.asked.pauses);
  named_answers told;
  told.pauses.answer = {std::move(in_force), end};
  it.answer(std::move(told));
}

}  // namespace

TEST_CASE("an event of a paused type waits for ever, its aggregate behind it, and others go out") {
  stream_script it;
  it.lead(), it.bring({});
  tell(it, {all_u});
  it.read({of_type(1, "u"), row(2), row(3, 2)});
  CHECK(it.sent() == numbers{3});
  it.ask();
  CHECK(it.recorded() == "1 backs off 2 parked ");
  CHECK(it.asked.failures[0].code == "paused");
  CHECK_FALSE(it.asked.failures[0].delay);
  CHECK_FALSE(it.asked.failures[0].counts_attempt);
  CHECK_FALSE(it.asked.failures[0].waits_for);
  CHECK(it.failed.empty());
  it.answer();
  it.read({row(4)});
  it.ask();
  CHECK(it.recorded() == "4 parked ");
}

TEST_CASE("when its pause has ended it is looked for, and goes out before what waits behind it") {
  stream_script it;
  it.lead(), it.bring({});
  tell(it, {all_u});
  it.read({of_type(1, "u"), row(2)});
  it.ask(), it.answer();
  tell(it, {});
  it.ask();
  REQUIRE(it.asked.resume);
  CHECK(it.asked.resume->paused.empty());
  named_answers found;
  found.resumed.answer.rows = {of_type(1, "u", 1, exception::backing_off)};
  it.answer(std::move(found));
  CHECK(it.sent() == numbers{1});
  CHECK(it.stream.held() == 1);
}

TEST_CASE(
    "an event waits while its exchange or its routing key is paused, as its row or its route has them") {
  auto limits = stream_script::quick();
  limits.route = by_type();
  stream_script it(limits);
  it.lead(), it.bring({});
  tell(it, {all_gone, all_late});
  it.read(
      {to(1, "gone", "a", 1), to(2, "a", "too.late", 2), of_type(3, "u", 3), to(4, "a", "a", 4), row(5, 5)});
  CHECK(it.sent() == numbers{4, 5});
  it.ask();
  CHECK(it.recorded() == "1 backs off 2 backs off 3 backs off ");
  for (const auto& one : it.asked.failures) {
    CHECK(one.code == "paused");
    CHECK_FALSE(one.delay);
    CHECK_FALSE(one.counts_attempt);
    CHECK_FALSE(one.waits_for);
  }
}

TEST_CASE("an event without its texts is judged by its destination when they have come") {
  stream_script it;
  it.lead(), it.bring({});
  tell(it, {all_gone});
  auto bare = to(1, "gone", "a", 1);
  bare.withheld = true;
  bare.what.exchange.reset();
  bare.what.routing_key.reset();
  it.read({bare});
  CHECK(it.sent().empty());
  it.ask();
  REQUIRE(it.asked.fetch.size() == 1);
  CHECK(it.recorded().empty());
  named_answers texts;
  texts.fetched.answer = {to(1, "gone", "a", 1)};
  it.answer(std::move(texts));
  CHECK(it.sent().empty());
  it.ask();
  CHECK(it.recorded() == "1 backs off ");
}

TEST_CASE(
    "what is still paused by its destination when another pause ends stays as it is, and is not asked for") {
  stream_script it;
  it.lead(), it.bring({});
  tell(it, {all_gone, all_u});
  it.read({to(1, "gone", "a", 1), of_type(2, "u", 2), row(3, 1)});
  it.ask();
  CHECK(it.recorded() == "1 backs off 2 backs off 3 parked ");
  it.answer();
  tell(it, {all_gone});
  it.ask();
  REQUIRE(it.asked.resume);
  named_answers found;
  found.resumed.answer.rows = {to(1, "gone", "a", 1, exception::backing_off),
                               of_type(2, "u", 2, exception::backing_off)};
  it.answer(std::move(found));
  CHECK(it.sent() == numbers{2});
  it.ack(0, it.latest());
  for (int i = 0; i < 5 && it.asks(); ++i) {
    CHECK(it.recorded().empty());
    CHECK_FALSE(it.asked.resume);
    it.answer();
  }
  it.read({row(4, 1)});
  CHECK(it.sent().empty());  // its aggregate is held
  it.ask(), it.answer();
  tell(it, {});
  it.ask();
  REQUIRE(it.asked.resume);
  named_answers rest;
  rest.resumed.answer.rows = {to(1, "gone", "a", 1, exception::backing_off)};
  it.answer(std::move(rest));
  CHECK(it.sent() == numbers{1});
}

TEST_CASE("with other routes what waits for the end of a destination's pause is looked for again") {
  auto limits = stream_script::quick();
  limits.route = by_type();
  stream_script it(limits);
  it.lead(), it.bring({});
  tell(it, {all_gone});
  it.read({of_type(1, "u")});
  it.ask();
  CHECK(it.recorded() == "1 backs off ");
  it.answer();
  it.stream.route_by({});
  it.ask();
  REQUIRE(it.asked.resume);
  named_answers found;
  found.resumed.answer.rows = {of_type(1, "u", 1, exception::backing_off)};
  it.answer(std::move(found));
  CHECK(it.sent() == numbers{1});
}

TEST_CASE("what is recorded as paused after its pause has ended is looked for again") {
  stream_script it;
  it.lead(), it.bring({});
  tell(it, {all_u});
  it.read({of_type(1, "u")});
  it.ask();
  REQUIRE(it.recorded() == "1 backs off ");
  named_answers locked;
  locked.failures.result = write_result::deferred;
  it.answer(std::move(locked));
  tell(it, {});
  it.ask();
  named_answers page;
  page.resumed.answer.upto = 5;
  it.answer(page);
  it.now += 10s;
  it.ask();
  REQUIRE(it.recorded() == "1 backs off ");
  REQUIRE(it.asked.resume);
  CHECK(it.asked.resume->after == 5);
  page.resumed.answer.upto = 9;
  it.answer(page);
  it.ask();
  REQUIRE(it.asked.resume);
  CHECK(it.asked.resume->after == position::before_all);
}

TEST_CASE("while everything is paused nothing is read and nothing more is sent, and then it goes on") {
  stream_script it;
  it.lead();
  it.bring({row(1), row(2)});
  CHECK(it.sent() == numbers{1});
  tell(it, {everything});
  it.ack(0, it.latest());
  CHECK(it.sent().empty());
  it.ask();
  CHECK(it.marked() == numbers{1});
  it.answer();
  it.stream.ring();
  CHECK_FALSE(it.asks());
  tell(it, {});
  CHECK(it.sent() == numbers{2});
  it.ask();
  CHECK(it.asked.read);
}

TEST_CASE("what a blocked lane has not sent yet comes back when it is paused") {
  stream_script it;
  it.lead();
  it.connections[0].full = true;
  it.bring({row(1), row(2, 2)});
  tell(it, {all_t});
  it.connections[0].full = false;
  it.pool.pump_and_tell();
  CHECK(it.sent().empty());
  it.ask();
  CHECK(it.recorded() == "1 backs off 2 backs off ");
}

TEST_CASE("a pause that ends by itself is asked for again when it does") {
  stream_script it;
  it.lead(), it.bring({});
  tell(it, {everything}, 5s);
  CHECK(it.stream.next_at() == it.now + 5s);
  it.now += 5s;
  it.ask();
  CHECK(it.asked.pauses);
}

TEST_CASE("a dead letter is sent although its event's type is paused meanwhile") {
  auto limits = stream_script::quick();
  limits.dead_letter_exchange = "dead";
  limits.retry = retry_policy::exponential(1s, 1s, 1);
  stream_script it(limits);
  it.lead();
  it.bring({row(1)});
  it.wires[0].on_channel_closed(std::vector<token>{it.latest()}, {.reason = "406 PRECONDITION_FAILED"});
  tell(it, {all_t});
  REQUIRE(it.connections[0].sent.size() == 2);
  CHECK(it.connections[0].sent[1].body == "dead");
  it.ack(0, it.latest());
  it.ask();
  CHECK(it.recorded() == "1 dead ");
}

TEST_CASE("nothing is sent before it is known what is paused") {
  stream_script it;
  it.stream.start({{0, {}}, {}}, payload_type::jsonb);
  it.ask();
  CHECK(it.asked.pauses);
  named_answers late;
  late.pauses.result = read_result::deferred;
  it.answer(std::move(late));
  CHECK(it.stream.now_in() == stream::phase::loading);
  it.now += 1s;
  it.ask();
  CHECK(it.asked.pauses);
  it.answer();
  CHECK(it.stream.now_in() == stream::phase::running);
}

}  // namespace flow_stream_pause_test
