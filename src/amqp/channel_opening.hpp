// channel_opening: opens a channel, puts it into confirm mode, and makes sure that its exchanges exist.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/codec.hpp"
#include "core/error.hpp"

namespace outboxd::amqp {

// Sends channel.open, confirm.select (https://www.rabbitmq.com/docs/confirms), and exchange.declare for each
// exchange: durable, of type topic. Used when a connection is opened, and after the broker has closed the
// channel. AMQP cannot list the bindings of an exchange, but a new exchange has none. So when the connection
// is opened, a passive declare first checks whether each exchange exists; the broker closes the channel if it
// does not.
class channel_opening {
 public:
  enum class manner : std::uint8_t {
    looks_first,  // checks whether each exchange exists, and declares missing ones
    declares,     // declares each exchange without a check
  };

  channel_opening(std::uint16_t channel, std::vector<std::string> exchanges, manner how)
      : channel_(channel), exchanges_(std::move(exchanges)), manner_(how) {}

  // Appends the first request. May be called again after done() or a failure.
  result<void> begin(std::string& out);

  // Processes the broker's answer, and appends the next request. Transient error: an unexpected answer.
  result<void> take(const method& answer, std::string& out);

  // Processes a channel.close because of a missing exchange: answers it, opens the channel again, and
  // declares that exchange. Returns false if no check was under way, or the channel was closed for another
  // reason.
  result<bool> take_missing(const amqp_channel_close_t& close, std::string& out);

  bool done() const { return step_ == step::done; }
  // Exchanges that did not exist before.
  const std::vector<std::string>& created() const { return created_; }
  // The expected answer, for error messages.
  std::string_view awaited() const;
  // The exchange that is being declared; empty if none.
  std::string_view declaring() const;

 private:
  // The answer expected from the broker.
  enum class step {
    idle,     // no answer; nothing was sent yet
    channel,  // channel.open-ok
    confirm,  // confirm.select-ok
    look,     // exchange.declare-ok for a passive declare; channel.close if the exchange is missing
    declare,  // exchange.declare-ok
    done,     // no answer; the channel is open
  };

  result<void> open(std::string& out);
  result<void> look_or_declare(std::string& out);
  result<void> declare(std::string& out, bool passive);

  std::uint16_t channel_;
  std::vector<std::string> exchanges_;
  manner manner_;
  std::size_t declared_ = 0;
  bool missing_ = false;  // the next exchange to declare did not exist
  std::vector<std::string> created_;
  step step_ = step::idle;
};

}  // namespace outboxd::amqp
