// order_consumer: a consumer like an application's, except that it only counts.
#include "shop/order_consumer.hpp"

#include <exception>

namespace outboxd::shop {
namespace {

constexpr std::uint16_t order_prefetch = 200;
constexpr std::chrono::milliseconds order_wait{50};

}  // namespace

order_consumer::order_consumer(const options& settings, tally& result)
    : consumer_{settings.queue, order_prefetch, settings.amqp_url},
      tally_{result},
      thread_{[this](const std::stop_token& stop) { run(stop); }} {}

void order_consumer::run(const std::stop_token& stop) {
  try {
    while (!stop.stop_requested()) {
      if (const auto message = consumer_.next(order_wait)) receive(*message);
    }
    consumer_.cancel();
    while (const auto message = consumer_.next(std::chrono::milliseconds{0})) receive(*message);
  } catch (const std::exception& error) {
    tally_.fail(std::string{"The consumer cannot go on: "} + error.what());
  }
}

void order_consumer::receive(const test::delivery& message) {
  const auto& headers = message.properties.headers;
  const auto seq = headers.find("seq");
  const auto aggregate = headers.find("aggregate_id");
  if (message.message_id().empty() || seq == headers.end() || !seq->is_number_integer() ||
      aggregate == headers.end() || !aggregate->is_string()) {
    tally_.fail("A message has no message_id, or no aggregate_id or seq among its headers.");
    return;
  }
  tally_.delivered(message.message_id(), aggregate->get<std::string>(), seq->get<std::int64_t>(),
                   message.redelivered, message.received_at);
  consumer_.ack(message);
}

void order_consumer::finish() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace outboxd::shop
