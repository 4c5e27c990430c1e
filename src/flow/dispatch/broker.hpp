// broker: the functions of RabbitMQ that a lane needs. One implementation talks to the real server; a
// simulation can be another.
#pragma once

#include <span>
#include <string_view>

#include "core/confirm.hpp"
#include "core/error.hpp"
#include "core/message.hpp"

namespace outboxd::flow {

class broker {
 public:
  broker() = default;
  broker(const broker&) = delete;
  broker& operator=(const broker&) = delete;
  virtual ~broker() = default;

  // Sends without waiting; the confirm follows through the listener, never from inside the call. full:
  // nothing was sent, on_writable will follow. An error is the message's own fault: it cannot be encoded, and
  // nothing was sent.
  virtual result<accepted> publish(token name, const message& what) = 0;

  // Drops the connection because of a fault that only the lane sees; on_broker_down follows, then a
  // reconnect, to another URL if there is one.
  virtual void drop(std::string_view why) = 0;
  // How many URLs there are: one at least.
  virtual int urls() const = 0;
};

class broker_listener {
 public:
  virtual void on_broker_up() = 0;
  virtual void on_outcomes(std::span<const outcome> outcomes) = 0;
  // The broker closed the channel over one of these publishes; the fate of each is unknown. The channel is
  // opened again: publish() says full until then.
  virtual void on_channel_closed(std::span<const token> unknown, const refusal& why) = 0;
  virtual void on_writable() = 0;
  // The broker accepts nothing for now (connection.blocked), or accepts messages again.
  virtual void on_blocked(bool blocked) = 0;
  // The fate of messages without a confirm is unknown.
  virtual void on_broker_down(const interruption& why) = 0;

 protected:
  ~broker_listener() = default;
};

}  // namespace outboxd::flow
