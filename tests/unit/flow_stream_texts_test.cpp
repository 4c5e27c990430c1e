// flow_stream_texts_test: texts that are too large to come along with the read.
#include <doctest/doctest.h>

#include "flow/stream/stream.hpp"
#include "flow_stream_script.hpp"

namespace flow_stream_texts_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;
using namespace std::chrono_literals;

namespace {

using numbers = std::vector<int>;

stored_event large(int number, std::int64_t size = 100) {
  auto out = row(number, number);
  out.withheld = true;
  out.size = size;
  return out;
}

named_answers fetched(std::vector<stored_event> rows) {
  named_answers out;
  out.fetched.answer = std::move(rows);
  return out;
}

named_answers not_fetched(read_result how, const char* reason) {
  named_answers out;
  out.fetched.result = how;
  out.fetched.reason = reason;
  return out;
}

named_answers too_dear() {
  return not_fetched(read_result::too_dear, "canceling statement due to statement timeout");
}

// Of two events that are to be fetched the first is refused, together and alone; the second comes. Then the
// first is asked for without being measured.
void fetch_first_in_vain(stream_script& it, const char* reason) {
  for (const auto& asked : {std::vector{key_of(1), key_of(2)}, std::vector{key_of(1)}}) {
    it.ask();
    CHECK(it.asked.fetch == asked);
    CHECK(it.asked.fetch_is_measured == (it.asked.keys_only || asked.size() == 1));
    it.answer(not_fetched(read_result::refused, reason));
  }
  it.ask();
  CHECK(it.asked.fetch == std::vector{key_of(2)});
  it.answer(fetched({row(2, 2)}));
  CHECK(it.sent() == numbers{2});
  it.ask();
  CHECK(it.asked.fetch == std::vector{key_of(1)});
  CHECK_FALSE(it.asked.fetch_is_measured);
  CHECK(it.failed.empty());
}

}  // namespace

TEST_CASE("large texts are fetched a few at a time, and what stands behind them waits") {
  auto limits = stream_script::quick();
  limits.batch_bytes = 250;
  stream_script it(limits);
  it.lead();
  auto large = [](int number, aggregate of) {
    auto out = row(number, of);
    out.withheld = true;
    return out;
  };
  it.bring({large(1, 1), large(2, 2), large(3, 3), row(4, 1)});
  CHECK(it.sent().empty());
  it.ask();
  CHECK(it.asked.fetch == std::vector{key_of(1), key_of(2)});
  named_answers texts;
  texts.fetched.answer = {row(1, 1), row(2, 2)};
  it.answer(texts);
  CHECK(it.sent() == numbers{1, 2});
  it.ask();
  CHECK(it.asked.fetch == std::vector{key_of(3)});
}

TEST_CASE("an event whose text PostgreSQL cannot read is dead, and the others of its group are not") {
  stream_script it;
  it.lead();
  it.bring({large(1), large(2)});
  fetch_first_in_vain(it, "invalid byte sequence");
  it.answer(not_fetched(read_result::refused, "invalid byte sequence"));
  it.ask();
  CHECK(it.recorded() == "1 dead ");
  REQUIRE(it.failed.size() == 1);
  CHECK(it.failed[0].reason == "invalid byte sequence");
}

TEST_CASE("what did not fit with others is fetched again, and counts as large as it is then known to be") {
  auto limits = stream_script::quick();
  limits.batch_bytes = 250;
  stream_script it(limits);
  it.lead();
  it.bring({large(1), large(2), large(3)});
  it.ask();
  CHECK(it.asked.fetch == std::vector{key_of(1), key_of(2)});
  it.answer(fetched({row(1, 1), large(2, 240), large(2, 240)}));
  CHECK(it.sent() == numbers{1});
  it.ask();
  CHECK(it.asked.fetch == std::vector{key_of(3)});
  it.answer(fetched({row(3, 3)}));
  it.ask();
  CHECK(it.asked.fetch == std::vector{key_of(2)});
  CHECK_FALSE(it.asked.fetch_is_measured);
}

TEST_CASE(
    "a fetch that is too dear is halved, and what is left is measured first and dies of its size alone") {
  stream_script it;
  it.lead();
  it.bring({large(1), large(2)});
  it.ask();
  it.answer(too_dear());
  it.ask();
  CHECK(it.asked.fetch == std::vector{key_of(1)});
  CHECK(it.asked.fetch_is_measured);
  it.answer(fetched({large(1, largest_message + 1)}));
  it.ask();
  CHECK(it.recorded() == "1 dead ");
  REQUIRE(it.failed.size() == 1);
  CHECK(it.failed[0].code == "unreadable");
  CHECK(it.failed[0].reason == "its texts have 536870913 bytes, and RabbitMQ accepts 536870912 at most");
  // A server that is slow for an hour kills nobody.
  int tries = 0;
  for (const auto until = it.now + 1h; it.now < until || it.asked.fetch.empty();) {
    const bool fetches = !it.asked.fetch.empty();
    if (fetches) {
      ++tries;
      CHECK(it.asked.fetch == std::vector{key_of(2)});
      CHECK(it.asked.fetch_is_measured);
    }
    it.answer(fetches ? too_dear() : named_answers());
    while (!it.asks()) it.now = std::max(it.now, it.stream.next_at());
  }
  CHECK(tries > 60);
  CHECK(it.stuck == numbers(static_cast<std::size_t>(tries), 2));
  CHECK(it.failed.size() == 1);
  it.answer(fetched({row(2, 2)}));
  CHECK(it.sent() == numbers{2});
}

TEST_CASE("a read that is too dear is made again without texts") {
  stream_script it;
  it.lead();
  REQUIRE(it.asked.read);
  CHECK_FALSE(it.asked.keys_only);
  named_answers dear;
  dear.read.result = read_result::too_dear;
  it.answer(dear);
  it.now = std::max(it.now, it.stream.next_at());
  it.ask();
  REQUIRE(it.asked.read);
  CHECK(it.asked.keys_only);
}

TEST_CASE("after a session that ended over texts they are measured first, for a while") {
  stream_script it;
  it.lead();
  REQUIRE(it.asked.read);
  it.stream.lost();
  it.stream.lost();  // it could not be opened again at once
  it.lead();
  REQUIRE(it.asked.read);
  CHECK(it.asked.keys_only);
  it.bring({large(1)});
  it.ask();
  CHECK(it.asked.fetch == std::vector{key_of(1)});
  CHECK(it.asked.fetch_is_measured);
  it.stream.lost();  // not over what was measured
  it.lead();
  CHECK_FALSE(it.asked.keys_only);
  it.bring({large(1)});
  it.ask();
  CHECK_FALSE(it.asked.fetch_is_measured);
}

TEST_CASE("an event that cannot be measured is read all the same, and is dead if that fails, too") {
  stream_script it;
  it.lead();
  it.stream.lost();
  it.lead();
  it.bring({large(1), large(2)});
  fetch_first_in_vain(it, "stack depth limit exceeded");
  SUBCASE("it can be read") {
    it.answer(fetched({row(1, 1)}));
    CHECK(it.sent() == numbers{1});
  }
  SUBCASE("it cannot") {
    it.answer(not_fetched(read_result::refused, "stack depth limit exceeded"));
    it.ask();
    CHECK(it.recorded() == "1 dead ");
  }
}

TEST_CASE("an event on a disk that cannot be read is tried for half a minute before it is dead") {
  stream_script it;
  it.lead();
  auto large = row(1);
  large.withheld = true;
  it.bring({large});
  const auto began = it.now;
  auto tried_at = began;
  int tries = 0;
  for (; it.recorded().empty(); it.now = std::max(it.now, it.stream.next_at())) {
    if (!it.asks()) continue;
    named_answers refused;
    if (!it.asked.fetch.empty()) {
      ++tries;
      tried_at = it.now;
      refused.fetched.result = read_result::refused;
      refused.fetched.may_pass = true;
    }
    if (it.asked.failures.empty()) it.answer(std::move(refused));
  }
  CHECK(it.recorded() == "1 dead ");
  CHECK(tries == 6);
  CHECK(tried_at - began == 31s);
}

TEST_CASE("memory that is full of events behind a missing text does not stay full") {
  auto limits = stream_script::quick();
  limits.batch_bytes = 50;
  limits.batches = 4;
  stream_script it(limits);
  it.lead();
  auto large = row(1);
  large.withheld = true;
  it.bring({large, row(2), row(3)});
  it.ask();
  CHECK(it.asked.fetch == std::vector{key_of(1)});
}

TEST_CASE("what cannot be marked does not keep a text away from memory that is full of events behind it") {
  auto limits = stream_script::quick();
  limits.batch_bytes = 50;
  limits.batches = 4;
  stream_script it(limits);
  it.lead();
  it.bring({row(1, 1)});
  it.ack(0, it.latest());
  it.ask();
  CHECK(it.marked() == numbers{1});
  named_answers refused;
  refused.marks.result = write_result::refused;
  it.answer(refused);
  it.read({large(2), row(3, 2)});
  it.ask();
  CHECK(it.asked.fetch == std::vector{key_of(2)});
}

TEST_CASE("a text that is not there any more was the event's end") {
  stream_script it;
  it.lead();
  auto large = row(1);
  large.withheld = true;
  it.bring({large, row(2)});
  it.ask();
  it.answer();
  CHECK(it.sent() == numbers{2});
}

}  // namespace flow_stream_texts_test
