// bare_publisher: the broker's own limit: the same messages through the AMQP driver alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "stage/setup.hpp"
#include "support/process.hpp"

namespace outboxd::bench {

// Runs the publisher and returns its confirms per second. Throws if it fails. window: the maximum number of
// unconfirmed messages per connection.
double bare_publisher(const setup& on, const std::string& queue_type, std::int64_t messages,
                      std::int64_t size, int connections, int window = 2'000);

// The same at a limited rate, to a quorum queue; starts when it is constructed.
class paced_publisher {
 public:
  paced_publisher(const setup& on, double messages_per_second, std::chrono::milliseconds duration,
                  std::int64_t size, int connections);
  // Waits until everything is confirmed. Throws if the publisher fails.
  void finish();

 private:
  test::process process_;
};

}  // namespace outboxd::bench
