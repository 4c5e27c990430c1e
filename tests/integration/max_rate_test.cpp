// max_rate_test: relay.max_rate bounds what a relay sends in a time, and nothing else.
#include <doctest/doctest.h>

#include "asked_relay.hpp"

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

TEST_CASE("probes of what waits for its destination count in relay.max_rate as well") {
  const stage on;
  constexpr int rate = 10;  // less than is allowed to probes
  constexpr int burst = rate / 10;
  constexpr int keys = 20;
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', n, 'unbound-' || $1 || n, '{}' FROM generate_series(1, $2::int) AS n",
      {on.queue(), std::to_string(keys)});
  const auto start = steady_clock::now();
  asked_relay running{on, {"--relay-max-rate", std::to_string(rate)}};
  const auto failures = [&] {
    return metric(running, "outboxd_publish_failures_total{reason=\"returned\"}");
  };
  eventually(
      "all have failed, and some of them again", [&] { return failures() >= 2 * keys; }, time_limit);
  const std::chrono::duration<double> elapsed = steady_clock::now() - start;
  CHECK(2 * keys <= burst + rate * elapsed.count());
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
