// publish_encoder: encodes a message as the frames that publish it: basic.publish, content header, body.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "amqp/codec.hpp"
#include "amqp/field_table.hpp"
#include "core/error.hpp"
#include "core/message.hpp"

namespace outboxd::amqp {

struct message_limits {
  std::size_t max_body = 134'217'728;  // bytes; RabbitMQ's max_message_size, which applies to the body alone
};

class publish_encoder {
 public:
  // `frame_max`: as negotiated, in bytes.
  publish_encoder(std::uint16_t channel, std::uint32_t frame_max, message_limits limits = {});

  // Appends the message's frames, with app_id outboxd. An error is permanent and the event's own fault (a
  // text over 255 bytes, bad headers): it names the field and the limit, and nothing is appended. A message
  // whose headers are {} needs no allocation.
  result<void> append(const message& message, std::string& out);

 private:
  result<std::size_t> encode_publish(const message& message, char* out) const;
  result<std::size_t> encode_header(const message& message, char* out);

  std::uint16_t channel_;
  std::uint32_t frame_max_;
  message_limits limits_;
  field_table headers_;
  std::unique_ptr<char[]> scratch_;  // room for one content header
};

}  // namespace outboxd::amqp
