// rabbitmq_broker: the channel of a lane on its own connection to RabbitMQ, which is reconnected until
// stopped.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "amqp/connection.hpp"
#include "core/size_limit.hpp"
#include "flow/dispatch/broker.hpp"
#include "relay/link_observer.hpp"
#include "relay/reconnect_pause.hpp"
#include "relay/settings.hpp"
#include "relay/token_renewal.hpp"

namespace outboxd::relay {

class rabbitmq_broker final : public flow::broker, private amqp::handler {
 public:
  // All brokers of a relay share `largest`.
  rabbitmq_broker(const boost::asio::any_io_executor& on, const rabbitmq_settings& settings,
                  size_limit& largest, link_observer& observer);

  // Connects, serves and reconnects, until stop().
  boost::asio::awaitable<void> run(flow::broker_listener& listener);

  // Closes the connection in an orderly way; then run() returns.
  void stop();

  result<accepted> publish(token name, const message& what) override;
  void drop(std::string_view why) override;
  int urls() const override { return static_cast<int>(settings_.urls.size()); }

 private:
  boost::asio::awaitable<result<void>> open();
  boost::asio::awaitable<void> serve();
  void refused(error why);
  void say_unblocked();

  void on_outcomes(std::span<const outcome> outcomes) override;
  void on_channel_closed(std::span<const token> unknown, const refusal& why) override;
  void on_writable() override { listener_->on_writable(); }
  void on_blocked(std::string_view reason) override;
  void on_unblocked() override;
  void on_secret_updated() override { observer_.on_token_renewed(); }

  boost::asio::any_io_executor executor_;
  const rabbitmq_settings& settings_;
  size_limit& largest_;
  link_observer& observer_;
  reconnect_pause pause_;
  flow::broker_listener* listener_ = nullptr;
  std::shared_ptr<amqp::connection> link_;  // connecting or connected
  std::shared_ptr<token_renewal> renewal_;  // while connected, if the password is a token that expires
  bool up_ = false;
  bool blocked_ = false;
  std::string drop_reason_;
  std::size_t next_url_ = 0;
  std::size_t refused_for_good_ = 0;  // consecutive permanent errors
  bool stopping_ = false;
};

}  // namespace outboxd::relay
