// flow_notify_queue_test: from when on nobody is to notify, and until when.
#include "flow/lead/notify_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "flow/lead/doorbell.hpp"

namespace flow_notify_queue_test {

using namespace outboxd::flow;
using namespace std::chrono_literals;

TEST_CASE("the queue fills from a tenth on, and until less than a twentieth is left in it") {
  notify_queue one;
  CHECK_FALSE(one.on_usage(0.0));
  CHECK_FALSE(one.on_usage(0.09));
  CHECK_FALSE(one.fills());
  CHECK(one.on_usage(0.1));
  CHECK(one.fills());
  CHECK_FALSE(one.on_usage(0.05));
  CHECK(one.fills());
  CHECK(one.on_usage(0.04));
  CHECK_FALSE(one.fills());
  CHECK_FALSE(one.on_usage(0.09));
}

TEST_CASE("a notification that PostgreSQL refuses says that the queue is full") {
  notify_queue one;
  CHECK(one.on_refused());
  CHECK(one.usage() == 1.0);
  CHECK(one.is_half_full());
  CHECK_FALSE(one.on_refused());
}

namespace {

// A server's queue that somebody holds up, others that fill it, and a leader that looks at each sweep.
// Returns how many of the outbox's writers failed.
int writers_that_fail(double filled_in_a_second, bool heeds) {
  constexpr auto step = 10ms;
  clock::time_point now{1h};
  doorbell bell{{}};
  notify_queue queue;
  double usage = 0;
  int failed = 0;
  bell.start(now);
  for (auto next_sweep = now; now < clock::time_point{1h + 60s}; now += step) {
    if (now >= next_sweep) {
      next_sweep = now + 1s;
      queue.on_usage(usage);
      if (heeds) bell.set(doorbell::obstacle::queue_fills, queue.fills(), now);
    }
    if (now >= bell.next_poll()) {
      bell.on_poll();
      bell.on_read_sent();
      bell.on_read(0, true, now);
    }
    if (bell.take_action() == doorbell::action::ask) bell.on_granted(now);
    // A writer rings unless it gets SLEEP.
    if (bell.now_in() != doorbell::state::awake && usage >= 1) ++failed;
    if (now > clock::time_point{1h + 10s})
      usage = std::min(1.0, usage + filled_in_a_second * std::chrono::duration<double>(step).count());
  }
  return failed;
}

}  // namespace

TEST_CASE("no writer fails by a full queue, unless nine tenths of it fill between two sweeps") {
  for (const double pace : {0.03, 0.1, 0.5, 0.85}) {
    CAPTURE(pace);
    CHECK(writers_that_fail(pace, true) == 0);
    CHECK(writers_that_fail(pace, false) > 0);
  }
}

}  // namespace flow_notify_queue_test
