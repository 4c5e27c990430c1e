// channel_opening: from a closed channel to one in confirm mode whose exchanges exist.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/codec.hpp"
#include "core/error.hpp"

namespace outboxd::amqp {

// channel.open, confirm.select (https://www.rabbitmq.com/docs/confirms), and exchange.declare for each exchange:
// durable, of type topic. For the first opening and for that after the broker has closed the channel.
class channel_opening {
 public:
  channel_opening(std::uint16_t channel, std::vector<std::string> exchanges)
      : channel_(channel), exchanges_(std::move(exchanges)) {}

  // Appends the first request. May begin again after done() or a failure.
  result<void> begin(std::string& out);

  // The broker's answer; appends the next request. Transient error: it is not the one that is awaited.
  result<void> take(const method& answer, std::string& out);

  bool done() const { return step_ == step::done; }
  // For messages: what is awaited now.
  std::string_view awaited() const;
  // The exchange that is being declared; empty if none is.
  std::string_view declaring() const;

 private:
  enum class step { idle, channel, confirm, declare, done };

  result<void> declare_next(std::string& out);

  std::uint16_t channel_;
  std::vector<std::string> exchanges_;
  std::size_t declared_ = 0;
  step step_ = step::idle;
};

}  // namespace outboxd::amqp
