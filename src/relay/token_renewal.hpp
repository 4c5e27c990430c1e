// token_renewal: sends the next token to RabbitMQ on an open connection, before the current token expires.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/system_timer.hpp>
#include <memory>

#include "amqp/connection.hpp"
#include "core/backoff.hpp"
#include "relay/link_observer.hpp"
#include "relay/secret.hpp"
#include "relay/token_life.hpp"

namespace outboxd::relay {

class token_renewal {
 public:
  // `from`: the source of the URL; reading it again returns the next token.
  token_renewal(const boost::asio::any_io_executor& on, secret from, std::shared_ptr<amqp::connection> link,
                link_observer& observer);

  // Renews the token that expires at `end`, and then the following tokens, until stop(), or until a token
  // expires without having been renewed: then RabbitMQ refuses messages, and the lane reconnects.
  static boost::asio::awaitable<void> run(std::shared_ptr<token_renewal> self, wall_time end);

  // Called when the connection ends. A program that prints the password may still be running; its output is
  // ignored.
  void stop();

 private:
  boost::asio::awaitable<result<wall_time>> renew(wall_time end);
  boost::asio::awaitable<void> wait_until(std::chrono::system_clock::time_point when);

  secret from_;
  std::shared_ptr<amqp::connection> link_;
  link_observer* observer_;  // null after stop()
  boost::asio::system_timer timer_;
  backoff backoff_;
};

}  // namespace outboxd::relay
