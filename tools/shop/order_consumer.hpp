// order_consumer: receives the shop's events on its own thread and reports them to the tally.
#pragma once

#include <thread>

#include "shop/options.hpp"
#include "shop/tally.hpp"
#include "support/consumer.hpp"

namespace outboxd::shop {

/// Consumes from construction until finish() or destruction. Errors are reported to the tally.
class order_consumer {
 public:
  order_consumer(const options& settings, tally& result);

  /// Cancels the consumer, handles the messages already delivered, and ends the thread.
  void finish();

 private:
  void run(const std::stop_token& stop);
  void receive(const test::delivery& message);

  test::consumer consumer_;
  tally& tally_;
  std::jthread thread_;  // last, because it uses the other members
};

}  // namespace outboxd::shop
