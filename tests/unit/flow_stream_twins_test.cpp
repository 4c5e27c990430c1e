// Events that have an id in common, rows that take the place of others, and answers that are not what was
// asked for.
#include <doctest/doctest.h>

#include "flow_stream_script.hpp"

namespace flow_stream_twins_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;

namespace {

// An event with the id of event 1.
stored_event twin(int seq, aggregate of, std::uint64_t tx = 0) {
  stored_event out = row(seq, of);
  out.what.id = id_of(1);
  out.what.tx = tx;
  return out;
}

stored_event large(stored_event from) {
  from.withheld = true;
  return from;
}

std::vector<std::int64_t> seqs_of(const std::vector<event_key>& keys) {
  std::vector<std::int64_t> out;
  for (const event_key& one : keys) out.push_back(one.seq);
  return out;
}

}  // namespace

TEST_CASE("two events with one id are two events: each is sent and marked by itself") {
  stream_script it;
  it.lead();
  it.bring({twin(1, 1), twin(2, 2), twin(3, 1)});
  CHECK(it.sent().size() == 2);
  it.ack(0, it.connections[0].sent[1].name);
  it.ask();
  CHECK(seqs_of(it.asked.marks.keys) == std::vector<std::int64_t>{2});
  it.answer();
  it.ack(0, it.connections[0].sent[0].name);
  CHECK(it.sent().size() == 1);
  it.ask();
  CHECK(seqs_of(it.asked.marks.keys) == std::vector<std::int64_t>{1});
}

TEST_CASE("two large events with one id get their own texts, in whatever order these come") {
  stream_script it;
  it.lead();
  it.bring({large(twin(1, 1)), large(twin(2, 2))});
  it.ask();
  REQUIRE(seqs_of(it.asked.fetch) == std::vector<std::int64_t>{1, 2});
  named_answers texts;
  texts.fetched.answer = {twin(2, 2), twin(1, 1)};
  it.answer(std::move(texts));
  CHECK(it.sent().size() == 2);
  CHECK(it.stream.events().size() == 2);
}

TEST_CASE("a row that takes the place of one whose text is to be fetched is another event") {
  stream_script it;
  it.lead();
  it.bring({large(twin(1, 1, 5))});
  it.ask();
  REQUIRE(it.asked.fetch.size() == 1);
  named_answers other;
  SUBCASE("the row is gone") {}
  SUBCASE("the new row comes in its stead") {
    other.fetched.answer = {twin(1, 2, 6)};
  }
  SUBCASE("a row of another aggregate comes in its stead") {
    other.fetched.answer = {twin(1, 2, 5)};
  }
  SUBCASE("a row of another aggregate comes in its stead, without its text") {
    other.fetched.answer = {large(twin(1, 2, 5))};
  }
  it.answer(std::move(other));
  CHECK(it.stream.events().size() == 0);
  it.read({twin(1, 2, 6)});
  CHECK(it.sent().size() == 1);
  it.wires[0].on_broker_down({ending::blameless});  // which goes through the chains
}

TEST_CASE(
    "a row that takes the place of one that is in flight is sent as well, and only the old one is marked") {
  stream_script it;
  it.lead();
  it.bring({twin(1, 1, 5)});
  it.read({twin(1, 2, 6)});
  CHECK(it.sent().size() == 2);
  it.ack(0, it.connections[0].sent[0].name);
  it.ask();
  REQUIRE(it.asked.marks.keys.size() == 1);
  CHECK(it.asked.marks.keys.front().tx == 5);
  named_answers missed;
  missed.marks.result = write_result::missed;
  it.answer(std::move(missed));
  it.ask();
  REQUIRE(it.asked.marks.keys.size() == 1);
  CHECK(it.asked.marks.keys.front().tx == 5);
  it.answer();
  CHECK(it.stream.events().size() == 1);
}

TEST_CASE("texts that come twice, or for an event that waits for none, change nothing") {
  stream_script it;
  it.lead();
  it.bring({large(row(1, 1)), row(2, 2)});
  it.ask();
  REQUIRE(it.asked.fetch.size() == 1);
  named_answers texts;
  texts.fetched.answer = {row(1, 1), row(1, 1), row(2, 2), row(3, 3)};
  it.answer(std::move(texts));
  CHECK(it.stream.events().size() == 2);
  CHECK(it.stream.events().bytes() == 200);
  CHECK(it.sent().size() == 2);
}

TEST_CASE("what a mark is said to have left counts only if it was to be marked") {
  stream_script it;
  it.lead();
  it.bring({row(1, 1), row(2, 2)});
  it.ack(0, it.connections[0].sent[0].name);
  it.ask();
  REQUIRE(it.marked() == std::vector{1});
  named_answers left;
  left.marks.left = {key_of(2), key_of(7)};
  it.answer(std::move(left));
  CHECK(it.stream.events().size() == 1);
  it.ack(0, it.connections[0].sent[1].name);
  it.ask();
  CHECK(it.marked() == std::vector{2});
}

}  // namespace flow_stream_twins_test
