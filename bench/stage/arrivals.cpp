#include "stage/arrivals.hpp"

#include <charconv>
#include <stdexcept>
#include <string_view>

#include "amqp/rabbitmq.hpp"
#include "support/broker_connection.hpp"

namespace outboxd::bench {
namespace {

// Extracts only two numbers: parsing the payload would cost more CPU than relaying it.
std::int64_t number_after(std::string_view body, std::string_view name) {
  const auto at = body.find(name);
  if (at == std::string_view::npos) return -1;
  std::int64_t value = -1;
  std::from_chars(body.data() + at + name.size(), body.data() + body.size(), value);
  return value;
}

arrival read(const amqp_bytes_t& bytes) {
  const std::string_view body(static_cast<const char*>(bytes.bytes), bytes.len);
  return {number_after(body, "\"n\": "), number_after(body, "\"a\": "), std::chrono::steady_clock::now()};
}

}  // namespace

arrivals::arrivals(const setup& on, const std::string& queue)
    : thread_([this, url = on.amqp_url, queue] {
        try {
          consume(url, queue);
        } catch (const std::exception& failed) {
          const std::lock_guard lock(mutex_);
          failure_ = failed.what();
        }
      }) {}

arrivals::~arrivals() {
  stopping_ = true;
  thread_.join();
}

std::vector<arrival> arrivals::take() {
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) throw std::runtime_error("the consumer has ended: " + failure_);
  return std::exchange(all_, {});
}

void arrivals::consume(const std::string& url, const std::string& queue) {
  test::broker_connection link(url);
  amqp_basic_consume(link.state(), link.channel(), test::bytes(queue), amqp_empty_bytes, 0, /*no_ack=*/1, 0,
                     amqp_empty_table);
  link.check("consuming queue " + queue);
  while (!stopping_) {
    amqp_maybe_release_buffers(link.state());
    amqp_envelope_t envelope{};
    const timeval time_limit{0, 100'000};
    const auto reply = amqp_consume_message(link.state(), &envelope, &time_limit, 0);
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION && reply.library_error == AMQP_STATUS_TIMEOUT)
      continue;
    link.check(reply, "waiting for a message");
    const auto one = read(envelope.message.body);
    amqp_destroy_envelope(&envelope);
    if (one.number < 0) continue;
    const std::lock_guard lock(mutex_);
    all_.push_back(one);
    ++count_;
  }
}

}  // namespace outboxd::bench
