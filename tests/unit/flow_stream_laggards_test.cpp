// flow_stream_laggards_test: one aggregate has more events than a chain may hold.
#include <doctest/doctest.h>

#include "flow_stream_script.hpp"

namespace flow_stream_laggards_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;
using namespace std::chrono_literals;

namespace {

using numbers = std::vector<int>;

// A chain has two events, or up to five if it is the only one that was left behind.
stream_limits small() {
  auto out = stream_script::quick();
  out.longest_chain = 2;
  out.read.batch = 5;
  out.batches = 2;
  return out;
}

// Of aggregate 1 there is more; of 2 there is one event.
class hot_script : public stream_script {
 public:
  explicit hot_script(const stream_limits& limits = small()) : stream_script(limits) {
    lead();
    bring({row(1), row(2), row(3), row(9, 2)});
  }
  // Goes on until the laggards are read.
  void ask_for_laggards() {
    while (ask(), !asked.laggards) answer();
  }
  void bring_of_laggard(std::vector<stored_event> rows, std::optional<std::int64_t> looked_to) {
    named_answers out;
    out.laggards.answer = {std::move(rows), {{1, looked_to}}};
    answer(std::move(out));
  }
};

}  // namespace

TEST_CASE("who has more events than a chain may hold is left behind, and read again from there") {
  hot_script it;
  CHECK(it.sent() == numbers{1, 9});
  it.ask_for_laggards();
  CHECK(it.recorded().empty());
  REQUIRE(it.asked.laggards->of.size() == 1);
  CHECK(it.asked.laggards->of[0].which == 1);
  CHECK(it.asked.laggards->of[0].after == 2);
  it.bring_of_laggard({row(3)}, std::nullopt);
  it.ack(0, 1);
  CHECK(it.sent() == numbers{2});
  it.ack(0, it.latest());
  CHECK(it.sent() == numbers{3});
  CHECK_FALSE(it.stream.passes_over(1, 5));
}

TEST_CASE("the reading goes on without who was left behind, until that has caught up") {
  hot_script it;
  it.ask_for_laggards();
  it.bring_of_laggard({row(3)}, 3);  // the position is at 9
  it.read({row(12, 3)});
  CHECK(it.asked.passing_over == std::vector<aggregate>{1});
  CHECK(it.stream.passes_over(1, 5));
  it.ack(0, 1);
  it.ask_for_laggards();
  CHECK(it.asked.laggards->of[0].after == 3);
  it.bring_of_laggard({}, 12);
  it.stream.ring();
  it.ask();
  CHECK(it.asked.passing_over.empty());
}

TEST_CASE("nobody else has less than half of the memory for who was left behind") {
  hot_script it;
  it.ask_for_laggards();
  CHECK(it.asked.laggards->events == 2);
  it.bring_of_laggard({row(3), row(5)}, 5);
  while (it.asks()) {
    CHECK_FALSE(it.asked.laggards);  // four are in memory
    it.answer();
  }
}

TEST_CASE("what came late of who was left behind is read at once, if what is above it is not waiting") {
  hot_script it;
  it.stream.ring();
  while (it.ask(), !it.asked.read) it.answer();
  named_answers late;
  late.read.answer.now = {9, 9, {}};
  late.read.answer.saw_all = true;
  late.read.answer.late = 2;
  late.read.answer.late_low = 2;
  late.read.answer.rows = {row(20), row(21)};
  late.read.answer.rows[0].what.seq = 2;  // up to 2 the aggregate has been read
  late.read.answer.rows[1].what.seq = 3;
  it.answer(std::move(late));
  CHECK(it.stream.events().find({id_of(20), 2, 0}) != no_slot);
  CHECK(it.stream.events().find({id_of(21), 3, 0}) == no_slot);
}

TEST_CASE("what is beyond the position is not taken from a read of who was left behind") {
  hot_script it;
  it.ask_for_laggards();
  it.bring_of_laggard({row(3), row(10)}, 10);
  CHECK(it.stream.events().find({id_of(3), 3, 0}) != no_slot);
  CHECK(it.stream.events().find({id_of(10), 10, 0}) == no_slot);
  CHECK_FALSE(it.stream.passes_over(1, 10));  // the others' read brings it
}

// A walk finds nothing that committed late: only a read does.
TEST_CASE("over what a walk has passed, who was left behind waits for a read of what committed late") {
  hot_script it;
  it.stream.ring();
  while (it.ask(), !it.asked.read) it.answer();
  named_answers far;  // what is pending next is beyond what a read looks through
  far.read.answer.now = {9, 9, {}};
  far.read.answer.saw_all = true;
  far.read.answer.top = 1'000'000;
  it.answer(std::move(far));
  while (it.ask(), !it.asked.walk_from) it.answer();
  REQUIRE(it.asked.laggards);
  named_answers walked;
  walked.walk.answer.walked_to = 900'000;
  walked.walk.answer.met = true;
  auto early = row(4);
  early.what.seq = 500'000;
  auto late = row(5);
  late.what.seq = 500'001;
  late.what.tx = 9;  // the latest read has not seen it
  walked.laggards.answer = {{early, late}, {{1, 500'001}}};
  it.answer(std::move(walked));
  CHECK(it.stream.events().find(early.what.key()) != no_slot);
  CHECK(it.stream.events().find(late.what.key()) == no_slot);
  it.ack(0, 1);
  it.now += 20ms;
  it.read({});
  it.ask_for_laggards();
  CHECK(it.asked.laggards->of[0].after == 500'000);
}

TEST_CASE("the saved position is below what was left behind") {
  hot_script it;
  it.ask_for_laggards();
  named_answers failed;
  failed.laggards.result = read_result::deferred;
  it.answer(std::move(failed));
  for (token one = 1; one <= 3; ++one) it.ack(0, one);
  while (it.asks()) it.answer();
  it.stream.sweep();
  while (it.ask(), !it.asked.save) it.answer();
  CHECK(it.asked.save->seq == 2);
}

TEST_CASE("a stream that drains leaves its position below what was left behind") {
  hot_script it;
  for (token one = 1; one <= 3; ++one) it.ack(0, one);
  it.stream.drain();
  CHECK(it.stream.at().seq == 2);
}

TEST_CASE("a read of who was left behind that fails is made again after a pause") {
  hot_script it;
  it.ask_for_laggards();
  named_answers failed;
  failed.laggards.result = read_result::deferred;
  it.answer(std::move(failed));
  while (it.asks()) {
    CHECK_FALSE(it.asked.laggards);
    it.answer();
  }
  it.now += 20ms;
  it.ask_for_laggards();
}

TEST_CASE("who is overtaken by too many is parked, and looked up when its chain is settled") {
  auto limits = small();
  limits.most_overtaking = 0;
  hot_script it(limits);
  it.ask_for_laggards();
  it.bring_of_laggard({row(3), row(5)}, std::nullopt);
  it.ask();
  CHECK(it.recorded() == "3 parked 5 parked ");
  it.answer();
  while (it.asks()) {
    CHECK(it.asked.release.empty());  // 1 and 2 are in memory still
    it.answer();
  }
  it.ack(0, 1);
  it.ack(0, it.latest());
  while (it.asks() && it.asked.release.empty()) it.answer();
  CHECK(it.asked.release == std::vector<aggregate>{1});
  CHECK(it.asked.release_events == 1);  // a sixteenth of a batch, beside live events
  named_answers released;
  released.released.answer.rows = {row(3, 1, exception::parked)};
  it.sent();
  it.answer(released);
  CHECK(it.sent() == numbers{3});
}

TEST_CASE("what is scheduled for later is set aside, also when it is of who was left behind") {
  hot_script it;
  it.ask_for_laggards();
  auto later = row(3);
  later.due_in = 500ms;
  it.bring_of_laggard({later}, std::nullopt);
  it.ask();
  CHECK(it.recorded() == "3 scheduled ");
}

TEST_CASE("who was left behind and fails is parked as it is read") {
  hot_script it;
  it.stream_script::answer(0, 1, verdict::nacked);
  it.ask_for_laggards();
  it.bring_of_laggard({row(3)}, std::nullopt);
  it.ask();
  CHECK(it.recorded().find("3 parked") != std::string::npos);
}

}  // namespace flow_stream_laggards_test
