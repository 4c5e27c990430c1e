// consumer: basic.consume over rabbitmq-c.
#include "support/consumer.hpp"

#include <sys/time.h>

#include "amqp/rabbitmq.hpp"

namespace outboxd::test {
namespace {

constexpr std::string_view consumer_tag = "outboxd-test";

timeval as_timeval(std::chrono::milliseconds span) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span);
  return {seconds.count(), std::chrono::microseconds{span - seconds}.count()};
}

/// The envelope's memory is the library's: give it back. When the call failed, the library has done so itself
/// and left the pointers behind (amqp_consume_message in 0.11).
struct envelope : amqp_envelope_t {
  envelope() : amqp_envelope_t{} {}
  ~envelope() {
    if (filled) amqp_destroy_envelope(this);
  }
  bool filled = false;
  envelope(const envelope&) = delete;
  envelope& operator=(const envelope&) = delete;
};

}  // namespace

consumer::consumer(const std::string& queue, std::uint16_t prefetch, const std::string& url)
    : connection_{url} {
  amqp_basic_qos(connection_.state(), connection_.channel(), 0, prefetch, 0);
  connection_.check("setting the prefetch");
  amqp_basic_consume(connection_.state(), connection_.channel(), bytes(queue), bytes(consumer_tag), 0, 0, 0,
                     amqp_empty_table);
  connection_.check("consuming queue " + queue);
}

std::optional<delivery> consumer::next(steady_clock::time_point deadline) {
  amqp_maybe_release_buffers(connection_.state());
  envelope source;
  const auto timeout = as_timeval(time_left(deadline));
  const auto reply = amqp_consume_message(connection_.state(), &source, &timeout, 0);
  const auto now = steady_clock::now();
  if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) {
    if (reply.library_error == AMQP_STATUS_TIMEOUT) return std::nullopt;
    if (reply.library_error == AMQP_STATUS_UNEXPECTED_STATE) {
      // Not a delivery but a method: the server cancelled the consumer or closed something.
      amqp_frame_t frame{};
      amqp_simple_wait_frame(connection_.state(), &frame);
      throw broker_error{"the broker ended the consumer (queue deleted, channel or connection closed)", 0};
    }
  }
  connection_.check(reply, "waiting for a delivery");
  source.filled = true;

  delivery message;
  message.body = text(source.message.body);
  message.exchange = text(source.exchange);
  message.routing_key = text(source.routing_key);
  message.tag = source.delivery_tag;
  message.redelivered = source.redelivered != 0;
  message.properties = decode(source.message.properties);
  message.received_at = now;
  return message;
}

std::vector<delivery> consumer::take(std::size_t count, std::chrono::milliseconds time_limit) {
  const auto deadline = steady_clock::now() + time_limit;
  std::vector<delivery> taken;
  while (taken.size() < count) {
    auto message = next(deadline);
    if (!message) {
      throw deadline_passed{"only " + std::to_string(taken.size()) + " of " + std::to_string(count) +
                            " deliveries came within " + std::to_string(time_limit.count()) + " ms"};
    }
    ack(*message);
    taken.push_back(std::move(*message));
  }
  return taken;
}

void consumer::ack(std::uint64_t tag, bool multiple) {
  const int status = amqp_basic_ack(connection_.state(), connection_.channel(), tag, multiple ? 1 : 0);
  if (status != AMQP_STATUS_OK) throw broker_error{amqp_error_string2(status), 0};
}

void consumer::nack(std::uint64_t tag, bool requeue) {
  const int status = amqp_basic_nack(connection_.state(), connection_.channel(), tag, 0, requeue ? 1 : 0);
  if (status != AMQP_STATUS_OK) throw broker_error{amqp_error_string2(status), 0};
}

void consumer::cancel() {
  amqp_basic_cancel(connection_.state(), connection_.channel(), bytes(consumer_tag));
  connection_.check("cancelling the consumer");
}

}  // namespace outboxd::test
