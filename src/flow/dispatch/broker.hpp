// broker: the functions of RabbitMQ that a lane needs. One implementation talks to a real server; simulations
// have their own.
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

  // Sends without waiting; the listener receives the confirm later, never during the call. full: nothing was
  // sent; on_writable follows. An error is the message's own fault: it cannot be encoded, and nothing was
  // sent.
  virtual result<accepted> publish(token name, const message& what) = 0;

  // Drops the connection because of a fault that only the lane can detect. on_broker_down follows, then a
  // reconnect, to the next URL if there are several.
  virtual void drop(std::string_view why) = 0;
  // The number of URLs; at least one.
  virtual int urls() const = 0;
};

class broker_listener {
 public:
  virtual void on_broker_up() = 0;
  virtual void on_outcomes(std::span<const outcome> outcomes) = 0;
  // The broker closed the channel because of one of these messages; the outcome of each is unknown. The
  // channel is opened again; until then, publish() returns full.
  virtual void on_channel_closed(std::span<const token> unknown, const refusal& why) = 0;
  virtual void on_writable() = 0;
  // The broker has blocked or unblocked publishing (connection.blocked, connection.unblocked).
  virtual void on_blocked(bool blocked) = 0;
  // The connection was lost; the outcome of messages without a confirm is unknown.
  virtual void on_broker_down(const interruption& why) = 0;

 protected:
  ~broker_listener() = default;
};

}  // namespace outboxd::flow
