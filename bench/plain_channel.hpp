// plain_channel: a channel in confirm mode, as used by typical hand-written relays.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "amqp/rabbitmq.hpp"
#include "support/broker_connection.hpp"

namespace outboxd::bench {

class plain_channel {
 public:
  explicit plain_channel(const std::string& amqp_url) : broker_(amqp_url) {
    amqp_confirm_select(broker_.state(), broker_.channel());
    broker_.check("asking for confirms");
  }

  // The routing key is the event type.
  void publish(const std::string& id, const std::string& exchange, const std::string& event_type,
               const std::string& body) {
    using test::bytes;
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG |
                        AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_TYPE_FLAG;
    properties.content_type = bytes("application/json");
    properties.delivery_mode = 2;
    properties.message_id = bytes(id);
    properties.type = bytes(event_type);
    const int status =
        amqp_basic_publish(broker_.state(), broker_.channel(), bytes(exchange), bytes(event_type),
                           /*mandatory=*/1, 0, &properties, bytes(body));
    if (status != AMQP_STATUS_OK) throw test::broker_error(amqp_error_string2(status), 0);
  }

  // Waits for the next ack. Throws if the broker sends another method, or the connection is lost.
  amqp_basic_ack_t await_ack() {
    amqp_maybe_release_buffers(broker_.state());
    amqp_frame_t frame{};
    do {
      if (const int read = amqp_simple_wait_frame(broker_.state(), &frame); read != AMQP_STATUS_OK)
        throw test::broker_error(amqp_error_string2(read), 0);
    } while (frame.frame_type != AMQP_FRAME_METHOD);
    if (frame.payload.method.id != AMQP_BASIC_ACK_METHOD)
      throw std::runtime_error(fmt::format("no ack but method {:#x}", frame.payload.method.id));
    return *static_cast<const amqp_basic_ack_t*>(frame.payload.method.decoded);
  }

 private:
  test::broker_connection broker_;
};

}  // namespace outboxd::bench
