// flow_step_observer_test: who listens is told each step of each event in its order; nobody else is.
#include "flow/stream/step_observer.hpp"

#include <doctest/doctest.h>

#include "flow_stream_script.hpp"

namespace flow_step_observer_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;
using namespace std::chrono_literals;

namespace {

std::string_view name_of(step what) {
  switch (what) {
    case step::read:
      return "read";
    case step::sent:
      return "sent";
    case step::letter_sent:
      return "letter";
    case step::acked:
      return "acked";
    case step::returned:
      return "returned";
    case step::nacked:
      return "nacked";
    case step::interrupted:
      return "interrupted";
    case step::parked:
      return "parked";
    case step::marked:
      return "marked";
  }
  return {};
}

class listener final : public step_observer {
 public:
  explicit listener(bool listens) { listen_to_all(listens); }
  explicit listener(step one) { listen_to(one); }
  void on_step(const step_taken& what) override {
    told_ += fmt::format("{} {}", number_of(what.of.id), name_of(what.what));
    if (what.lane != no_lane) told_ += fmt::format(" on {}", what.lane);
    if (what.to.exchange != "outbox") told_ += fmt::format(" to {}", what.to.exchange);
    told_ += ", ";
    times_ = what.times;
  }
  const std::optional<confirm_times>& times() const { return times_; }
  std::string take() { return std::exchange(told_, {}); }

 private:
  std::string told_;
  std::optional<confirm_times> times_;  // of the latest step
};

stream_limits limits() {
  auto out = stream_script::quick();
  out.route.exchange = "outbox";
  return out;
}

}  // namespace

TEST_CASE("a step observer is told that an event is read, sent, acked and marked, and on which lane") {
  listener told{true};
  stream_script it{limits(), 1, {&told}};
  it.lead();
  it.bring({row(5)});
  CHECK(told.take() == "5 read, 5 sent on 0, ");
  it.ack(0, it.latest());
  CHECK(told.take() == "5 acked on 0, ");
  it.ask();
  CHECK(told.take().empty());
  it.answer();
  CHECK(told.take() == "5 marked on 0, ");
}

TEST_CASE("a step observer is told what is returned, nacked, interrupted, and what waits behind it") {
  listener told{true};
  stream_script it{limits(), 1, {&told}};
  it.lead();
  it.bring({row(1), row(2), row(3, 3), row(4, 4)});
  told.take();
  it.answer(0, 1, verdict::returned, "312 NO_ROUTE");
  CHECK(told.take() == "1 returned on 0, 2 parked, ");
  it.answer(0, 2, verdict::nacked);
  CHECK(told.take() == "3 nacked on 0, ");
  it.wires[0].on_broker_down({ending::silent, ""});
  CHECK(told.take() == "4 interrupted on 0, ");
}

TEST_CASE("a step observer is told of an event with large texts when these have come") {
  listener told{true};
  stream_script it{limits(), 1, {&told}};
  it.lead();
  auto large = row(5);
  large.withheld = true;
  it.bring({large});
  CHECK(told.take().empty());
  it.ask();
  named_answers texts;
  texts.fetched.answer = {row(5)};
  it.answer(texts);
  CHECK(told.take() == "5 read, 5 sent on 0, ");
}

TEST_CASE("a step observer is told of a dead letter and where it goes") {
  listener told{true};
  auto with_letters = limits();
  with_letters.dead_letter_exchange = "graveyard";
  stream_script it{with_letters, 1, {&told}};
  it.lead();
  auto bad = row(5);
  bad.what.event_type = "unencodable";
  it.bring({bad});
  CHECK(told.take() == "5 read, 5 letter on 0 to graveyard, ");
}

TEST_CASE("of two step observers each is told the steps that it listens to") {
  listener all{true};
  listener acks{step::acked};
  stream_script it{limits(), 1, {&all, &acks}};
  it.lead();
  it.bring({row(5)});
  it.ack(0, it.latest());
  CHECK(all.take() == "5 read, 5 sent on 0, 5 acked on 0, ");
  CHECK(acks.take() == "5 acked on 0, ");
}

TEST_CASE("a step observer is told when an acked event was sent, on PostgreSQL's clock") {
  listener told{step::acked};
  stream_script it{limits(), 1, {&told}};
  it.lead();
  it.stream.on_server_time(it.now, timestamp(1'000s));
  it.bring({row(5)});
  it.now += 3s;
  it.ack(0, it.latest());
  REQUIRE(told.times());
  CHECK(told.times()->sent == timestamp(1'000s));
  CHECK(told.times()->confirmed == timestamp(1'003s));
}

TEST_CASE("a step observer that does not listen is told nothing") {
  listener told{false};
  stream_script it{limits(), 1, {&told}};
  it.lead();
  it.bring({row(5)});
  it.ack(0, it.latest());
  it.ask();
  it.answer();
  CHECK(told.take().empty());
}

}  // namespace flow_step_observer_test
