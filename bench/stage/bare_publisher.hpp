// bare_publisher: the broker's own limit: the same messages through the AMQP driver alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "stage/setup.hpp"
#include "support/process.hpp"

namespace outboxd::bench {

// Runs the publisher and returns its confirms per second. Throws when it fails. window: the most messages of
// a connection that are not confirmed yet.
double bare_publisher(const setup& on, const std::string& queue_type, std::int64_t messages,
                      std::int64_t size, int connections, int window = 2'000);

// The same at a pace, to a quorum queue, from its construction on.
class paced_publisher {
 public:
  paced_publisher(const setup& on, double messages_per_second, std::chrono::milliseconds duration,
                  std::int64_t size, int connections);
  // Waits until all is confirmed. Throws when it fails.
  void finish();

 private:
  test::process process_;
};

}  // namespace outboxd::bench
