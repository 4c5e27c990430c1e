// broker_connection: one AMQP connection over rabbitmq-c's blocking socket, and how its errors are told.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "amqp/rabbitmq.hpp"

namespace outboxd::test {

/// What RabbitMQ (or the socket) said. `code` is AMQP's reply code, such as 404, and 0 when there was none.
struct broker_error : std::runtime_error {
  broker_error(const std::string& message, int reply_code) : std::runtime_error{message}, code{reply_code} {}
  int code;
};

/// Not for use by two threads at once. Heartbeats are off, so that a test may do nothing for as long as it
/// likes.
class broker_connection {
 public:
  /// Connects, logs in and opens a channel. `url` is amqp://user:password@host:port/vhost. Throws
  /// broker_error.
  explicit broker_connection(const std::string& url);
  ~broker_connection();
  broker_connection(broker_connection&&) noexcept = default;
  broker_connection& operator=(broker_connection&&) = delete;

  amqp_connection_state_t state() const { return state_.get(); }
  amqp_channel_t channel() const { return channel_; }
  int socket() const { return amqp_get_sockfd(state_.get()); }

  /// Throws broker_error when the last call failed; `what` names that call. A channel that the server closed
  /// is replaced by a fresh one first, so that the next call works again.
  void check(std::string_view what) { check(amqp_get_rpc_reply(state()), what); }
  void check(const amqp_rpc_reply_t& reply, std::string_view what);

 private:
  struct destroy {
    void operator()(amqp_connection_state_t state) const { amqp_destroy_connection(state); }
  };
  void open_channel();

  std::unique_ptr<amqp_connection_state_t_, destroy> state_;
  amqp_channel_t channel_ = 0;
};

/// Views and copies of AMQP's byte strings; a view lives as long as its source.
amqp_bytes_t bytes(std::string_view text);
std::string text(amqp_bytes_t value);

}  // namespace outboxd::test
