// Consumers and relays are killed at will, and every effect happens exactly once.
#include <doctest/doctest.h>

#include <memory>
#include <random>

#include "load.hpp"
#include "stage.hpp"

namespace outboxd::test::effect_once_test {
namespace {

const arguments small{"--relay-lanes", "2", "--relay-batch", "40"};

// A program that is started again whenever it is killed.
template <class Program>
class mortal {
 public:
  explicit mortal(std::function<std::unique_ptr<Program>()> start)
      : start_{std::move(start)}, program_{start_()} {}

  void kill() {
    program_->send(SIGKILL);
    CHECK_MESSAGE(program_->wait(time_limit).signal == SIGKILL, program_->tail());
    for (const auto& line : program_->all_lines(time_limit)) {
      CHECK_FALSE(line.starts_with("effect_consumer:"));
      if (line.starts_with("again ")) ++again_;
    }
  }
  void revive() { program_ = start_(); }
  Program& running() { return *program_; }
  /// How often a consumer found an effect done already, in all its lives.
  int again() const { return again_; }

 private:
  std::function<std::unique_ptr<Program>()> start_;
  std::unique_ptr<Program> program_;
  int again_ = 0;
};

}  // namespace

TEST_CASE("every effect happens exactly once although consumers and relays are killed again and again") {
  constexpr auto end_mark = "ffffffff-ffff-ffff-ffff-ffffffffffff";
  constexpr int kills = 10;
  const stage on;
  auto session = on.connect();
  session.exec("CREATE TABLE effect (event_id uuid NOT NULL)");  // nothing in it forbids a second one
  const auto consume = [&] {
    return std::make_unique<process>(
        process_options{.program = EFFECT_CONSUMER_BINARY,
                        .arguments = {on.queue(), "effects"},
                        .environment = {{"OUTBOXD_DATABASE_URL", on.database_url()}},
                        .log_file = {}});
  };
  const auto effects = [&] { return session.number("SELECT count(*) FROM effect"); };
  on.add_events(10, 60);  // a backlog, so that the first kills meet batches under way
  mortal<relay> publisher{[&] { return std::make_unique<relay>(on, small); }};
  std::vector<mortal<process>> consumers;
  for (int i = 0; i < 2; ++i) consumers.emplace_back(consume);
  load writers{on, {.events = 400}};
  std::mt19937 random(20260131);
  for (int i = 0; i < kills; ++i) {
    const auto enough = effects() + std::uniform_int_distribution<int>(20, 60)(random);
    eventually(
        "there are more effects", [&] { return effects() >= enough; }, time_limit);
    const auto victim = std::uniform_int_distribution<std::size_t>(0, 2)(random);
    if (victim == 2) {
      publisher.kill();
      publisher.revive();
    } else {
      consumers[victim].kill();
      consumers[victim].revive();
    }
  }
  writers.finish();
  on.await_drained();
  // What they had not acknowledged goes back to its place in the queue, before the mark, and one consumer
  // takes it all.
  for (auto& one : consumers) one.kill();
  broker session_with_broker;
  eventually(
      "the broker has noticed", [&] { return session_with_broker.consumer_count(on.queue()) == 0; },
      time_limit);
  session_with_broker.publish("", on.queue(), "", end_mark);
  consumers[0].revive();
  consumers[0].running().wait_line(fmt::format("applied {}", end_mark), time_limit);
  consumers[0].kill();

  CHECK(session.number(
            "SELECT count(*) FROM (SELECT FROM effect GROUP BY event_id HAVING count(*) > 1) AS twice") == 0);
  CHECK(session.number("SELECT count(*) FROM outbox.event AS e WHERE NOT EXISTS"
                       " (SELECT FROM effect AS f WHERE f.event_id = e.id)") == 0);
  CHECK(effects() == session.number("SELECT count(*) FROM outbox.event") + 1);  // and the mark
  CHECK(consumers[0].again() + consumers[1].again() > 0);                       // or nothing was proved
}

}  // namespace outboxd::test::effect_once_test
