// consumer: reads one queue with its own connection, blocking, one delivery at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/broker_connection.hpp"
#include "support/database.hpp"
#include "support/deadline.hpp"
#include "support/delivery.hpp"

namespace outboxd::test {

/// Starts consuming a queue that exists. Not for use by two threads at once. When it goes, the broker takes
/// back whatever was not acknowledged.
class consumer {
 public:
  /// `prefetch`: how many deliveries may be unacknowledged; 0 is no limit.
  explicit consumer(const std::string& queue, std::uint16_t prefetch = 0,
                    const std::string& url = required_environment("OUTBOXD_AMQP_URL"));

  /// The next delivery, or nothing when the deadline passes first. Throws broker_error when the connection or
  /// the channel is closed, or the queue was deleted.
  std::optional<delivery> next(steady_clock::time_point deadline);
  std::optional<delivery> next(std::chrono::milliseconds time_limit = patience) {
    return next(steady_clock::now() + time_limit);
  }
  /// Exactly `count` deliveries, each acknowledged; throws deadline_passed saying how many had come.
  std::vector<delivery> take(std::size_t count, std::chrono::milliseconds time_limit = patience);

  void ack(const delivery& message) { ack(message.tag); }
  /// `multiple`: this one and all before it.
  void ack(std::uint64_t tag, bool multiple = false);
  void nack(std::uint64_t tag, bool requeue);

  /// Tells the broker to send no more. What it had sent by then still comes out of next().
  void cancel();

 private:
  broker_connection connection_;
};

}  // namespace outboxd::test
