// inquiry: sends single requests to a broker on an open channel, without changing anything in the broker.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "amqp/codec.hpp"
#include "amqp/dialer.hpp"

namespace outboxd::amqp {

// The broker's answer: success, or the code and text with which it closed the channel. The channel is then
// opened again.
struct reply {
  std::uint16_t code = 0;  // 0: success
  std::string words;       // the text of the error
};

// One request at a time. An error (transient) means the end of the connection: it failed, or no answer came
// in time.
class inquiry {
 public:
  template <class T>
  using answer = boost::asio::awaitable<result<T>>;

  explicit inquiry(dialer::line line, std::chrono::milliseconds timeout = std::chrono::seconds(10));

  const tuning& tuned() const { return line_.tuned; }
  const identity& broker() const { return line_.broker; }
  // The TLS version, such as TLSv1.3; empty: no TLS.
  std::string_view protocol() const { return line_.wire->protocol(); }
  std::optional<std::chrono::system_clock::time_point> certificate_expires() const {
    return line_.certificate_expires;
  }
  // Why the broker blocks publishing, if it has reported a reason.
  const std::optional<std::string>& blocked() const { return line_.blocked; }

  // Sends a passive declare, which needs no permission: 404 if the exchange does not exist.
  answer<reply> exchange_exists(std::string_view name);

  // Declares an existing exchange like the relay does, durable and of type topic: 406 if it differs, 403
  // without the configure permission.
  answer<reply> same_as_declared(std::string_view name);

  // Checks the configure permission for an exchange that does not exist, with a declare that RabbitMQ rejects
  // (406) because its alternate-exchange is not a string. RabbitMQ checks that argument after the permission
  // (403) and before it creates anything.
  answer<reply> may_declare(std::string_view name);

  // Checks the write permission, with an empty message that RabbitMQ rejects (406) because its expiration is
  // not a number. RabbitMQ checks the expiration after the permission (403) and the existence of the exchange
  // (404), but before routing, so the message reaches no queue.
  answer<reply> may_publish(std::string_view exchange);

  // Closes the connection in an orderly way, for the sake of the broker's log; it is unusable afterwards.
  boost::asio::awaitable<void> close();

 private:
  answer<reply> ask(std::string request, amqp_method_number_t yes);
  answer<method> next_method();
  boost::asio::awaitable<result<void>> send(std::string_view bytes);

  dialer::line line_;
  std::chrono::milliseconds timeout_;
  codec codec_;
};

}  // namespace outboxd::amqp
