// max_rate_test: relay.max_rate bounds what a relay sends in a time, and nothing else.
#include <doctest/doctest.h>

#include "stage.hpp"

namespace outboxd::test::max_rate_test {

TEST_CASE(
    "under relay.max_rate no more is delivered in a time than the rate allows, and all of it in the end") {
  const stage on;
  constexpr int rate = 100;
  constexpr int events = 400;
  constexpr int burst = rate / 10;
  on.add_events(events / 8, 8);
  consumer reader{on.queue()};
  const auto start = steady_clock::now();
  relay running{on, {"--relay-max-rate", std::to_string(rate)}};
  for (int delivered = 1; delivered <= events; ++delivered) {
    const auto next = reader.next(time_limit);
    REQUIRE_MESSAGE(next, running.tail());
    // Slowness of any kind only makes it fewer.
    const std::chrono::duration<double> elapsed = steady_clock::now() - start;
    CHECK(delivered <= burst + rate * elapsed.count());
    reader.ack(*next);
  }
  on.await_drained();
  CHECK(on.count("published") == events);
  running.stop();
}

TEST_CASE("events that come back and are tried again count in relay.max_rate as well") {
  const stage on;
  constexpr int rate = 20;
  constexpr int burst = rate / 10;
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', n::text, 'unbound-' || $1, '{}' FROM generate_series(1, 20) AS n",
      {on.queue()});
  const auto start = steady_clock::now();
  relay running{on, {"--relay-max-rate", std::to_string(rate), "--retry-schedule", "1ms,1ms,1ms"}};
  // Four attempts each, and then it is dead.
  eventually(
      "all are dead", [&] { return on.count("dead") == 20; }, time_limit);
  const std::chrono::duration<double> elapsed = steady_clock::now() - start;
  CHECK(20 * 4 <= burst + rate * elapsed.count());
  running.stop();
}

TEST_CASE("a relay under relay.max_rate stops at once, with what it sent marked and the rest pending") {
  const stage on;
  on.add_events(25, 4);
  relay running{on, {"--relay-max-rate", "1"}};
  consumer reader{on.queue()};
  const auto first = reader.next(time_limit);
  REQUIRE_MESSAGE(first, running.tail());
  reader.ack(*first);
  running.stop();
  const auto delivered = on.count("published");
  CHECK(on.count("pending") == 100 - delivered);
  reader.take(static_cast<std::size_t>(delivered - 1), time_limit);
  CHECK_FALSE(reader.next(std::chrono::milliseconds(200)));
  // Another one, without a limit, sends the rest, and nothing twice.
  relay next{on};
  reader.take(static_cast<std::size_t>(100 - delivered), time_limit);
  on.await_drained();
  next.stop();
  CHECK_FALSE(reader.next(std::chrono::milliseconds(200)));
}

TEST_CASE("relay.max_rate takes whole numbers from 0 and nothing else") {
  for (const std::string bad : {"-1", "0.5", "fast", "1000001"}) {
    CAPTURE(bad);
    const auto got = run_outboxd({"run", "--relay-max-rate=" + bad});
    CHECK(got.exited(2));
    CHECK_MESSAGE(got.says("relay.max_rate = '" + bad + "'"), got.text());
    CHECK(got.says("a whole number from 0 to 1000000"));
  }
}

}  // namespace outboxd::test::max_rate_test
