// channel_opening: from a closed channel to one in confirm mode whose exchanges exist.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/codec.hpp"
#include "core/error.hpp"

namespace outboxd::amqp {

// channel.open, confirm.select (https://www.rabbitmq.com/docs/confirms), and exchange.declare for each
// exchange: durable, of type topic. Used for the first opening, and after the broker has closed the channel.
// AMQP cannot tell what is bound to an exchange, but a new exchange has no bindings. So the first opening
// checks whether each one exists (a passive declare); the broker closes the channel over a missing one.
class channel_opening {
 public:
  enum class manner : std::uint8_t {
    looks_first,  // looks for each exchange, and declares the missing ones
    declares,     // declares each exchange unseen
  };

  channel_opening(std::uint16_t channel, std::vector<std::string> exchanges, manner how)
      : channel_(channel), exchanges_(std::move(exchanges)), manner_(how) {}

  // Appends the first request. May begin again after done() or a failure.
  result<void> begin(std::string& out);

  // Takes the broker's answer and appends the next request. Transient error: an unexpected answer.
  result<void> take(const method& answer, std::string& out);

  // Takes a channel.close over a missing exchange: answers it, opens the channel again and declares that
  // exchange. False: no exchange was looked for, or the close has another reason.
  result<bool> take_missing(const amqp_channel_close_t& close, std::string& out);

  bool done() const { return step_ == step::done; }
  // Exchanges that were newly declared.
  const std::vector<std::string>& created() const { return created_; }
  // For messages: what is awaited now.
  std::string_view awaited() const;
  // The exchange that is being declared; empty if none is.
  std::string_view declaring() const;

 private:
  // What is awaited from the broker.
  enum class step {
    idle,     // nothing has been asked
    channel,  // channel.open-ok
    confirm,  // confirm.select-ok
    look,     // exchange.declare-ok of a passive declare; a channel.close says that it is missing
    declare,  // exchange.declare-ok
    done,     // nothing more
  };

  result<void> open(std::string& out);
  result<void> look_or_declare(std::string& out);
  result<void> declare(std::string& out, bool passive);

  std::uint16_t channel_;
  std::vector<std::string> exchanges_;
  manner manner_;
  std::size_t declared_ = 0;
  bool missing_ = false;  // the next one to declare
  std::vector<std::string> created_;
  step step_ = step::idle;
};

}  // namespace outboxd::amqp
