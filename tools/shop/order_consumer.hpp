// order_consumer: receives the shop's events on a thread of its own and tells the tally.
#pragma once

#include <thread>

#include "shop/options.hpp"
#include "shop/tally.hpp"
#include "support/consumer.hpp"

namespace outboxd::shop {

/// Consumes from construction until finish() or destruction. An error goes to the tally.
class order_consumer {
 public:
  order_consumer(const options& settings, tally& result);

  /// Cancels at the broker, takes what it had sent by then, and ends the thread.
  void finish();

 private:
  void run(const std::stop_token& stop);
  void receive(const test::delivery& message);

  test::consumer consumer_;
  tally& tally_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace outboxd::shop
