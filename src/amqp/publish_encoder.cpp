// publish_encoder: see publish_encoder.hpp.
#include "amqp/publish_encoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "amqp/frame.hpp"
#include "core/big_endian.hpp"

namespace outboxd::amqp {
namespace {

constexpr std::size_t max_short_string = 255;  // AMQP 0-9-1 section 4.2.5.3
// A method id, a ticket, two short strings and one byte of flags.
constexpr std::size_t max_publish = 4 + 2 + 2 * (1 + max_short_string) + 1;
constexpr std::size_t content_prefix =
    12;  // class, weight, body size: before the properties (section 4.2.6.1)

result<void> check_short(std::string_view text, std::string_view what) {
  if (text.size() <= max_short_string) return {};
  return permanent(fmt::format("{} is {} bytes long; AMQP allows {}", what, text.size(), max_short_string));
}

}  // namespace

publish_encoder::publish_encoder(std::uint16_t channel, std::uint32_t frame_max, message_limits limits)
    : channel_(channel),
      frame_max_(frame_max),
      limits_(limits),
      scratch_(new char[frame_max - frame_overhead]) {}

result<std::size_t> publish_encoder::encode_publish(const message& message, char* out) const {
  amqp_basic_publish_t publish{};
  publish.exchange = as_bytes(message.exchange);
  publish.routing_key = as_bytes(message.routing_key);
  publish.mandatory = message.mandatory ? 1 : 0;
  store_big_endian<std::uint32_t>(out, AMQP_BASIC_PUBLISH_METHOD);
  const int length = amqp_encode_method(AMQP_BASIC_PUBLISH_METHOD, &publish, {max_publish - 4, out + 4});
  if (length < 0) return permanent("basic.publish cannot be encoded");
  return 4 + static_cast<std::size_t>(length);
}

result<std::size_t> publish_encoder::encode_header(const message& message, char* out) {
  const std::size_t room = frame_max_ - frame_overhead;
  OUTBOXD_TRY(const auto table, headers_.build(message, room));

  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG |
                      AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_TYPE_FLAG | AMQP_BASIC_APP_ID_FLAG;
  properties.content_type = as_bytes(message.content_type);
  properties.headers = table;
  properties.delivery_mode = message.persistent ? 2 : 1;
  properties.message_id = as_bytes(message.message_id);
  properties.type = as_bytes(message.type);
  properties.app_id = as_bytes("outboxd");
  if (message.timestamp) {
    properties._flags |= AMQP_BASIC_TIMESTAMP_FLAG;
    properties.timestamp = *message.timestamp;
  }
  if (message.priority) {
    properties._flags |= AMQP_BASIC_PRIORITY_FLAG;
    properties.priority = *message.priority;
  }
  if (!message.expiration.empty()) {
    properties._flags |= AMQP_BASIC_EXPIRATION_FLAG;
    properties.expiration = as_bytes(message.expiration);
  }
  if (!message.content_encoding.empty()) {
    properties._flags |= AMQP_BASIC_CONTENT_ENCODING_FLAG;
    properties.content_encoding = as_bytes(message.content_encoding);
  }
  if (!message.correlation_id.empty()) {
    properties._flags |= AMQP_BASIC_CORRELATION_ID_FLAG;
    properties.correlation_id = as_bytes(message.correlation_id);
  }

  store_big_endian<std::uint16_t>(out, AMQP_BASIC_CLASS);
  store_big_endian<std::uint16_t>(out + 2, 0);
  store_big_endian<std::uint64_t>(out + 4, message.body.size());
  const int length =
      amqp_encode_properties(AMQP_BASIC_CLASS, &properties, {room - content_prefix, out + content_prefix});
  // The texts were checked, so the only possible error is the size. A content header cannot be split.
  if (length < 0)
    return permanent(
        fmt::format("headers and properties are larger than the {} bytes that fit one frame (frame_max {})",
                    room, frame_max_));
  return content_prefix + static_cast<std::size_t>(length);
}

result<void> publish_encoder::append(const message& message, std::string& out) {
  if (auto ok = check_short(message.exchange, "exchange"); !ok) return ok;
  if (auto ok = check_short(message.routing_key, "routing key"); !ok) return ok;
  if (auto ok = check_short(message.type, "event type"); !ok) return ok;
  if (auto ok = check_short(message.content_type, "content type"); !ok) return ok;
  if (auto ok = check_short(message.message_id, "message id"); !ok) return ok;
  if (auto ok = check_short(message.content_encoding, "content encoding"); !ok) return ok;
  if (auto ok = check_short(message.correlation_id, "correlation id"); !ok) return ok;

  if (message.body.size() > limits_.max_body)
    return permanent(fmt::format("the body is {} bytes long; amqp.max_message_size allows {}",
                                 message.body.size(), limits_.max_body));

  std::array<char, max_publish> publish;
  OUTBOXD_TRY(const auto publish_size, encode_publish(message, publish.data()));
  OUTBOXD_TRY(const auto content_header_size, encode_header(message, scratch_.get()));

  append_frame(out, frame_type::method, channel_, {publish.data(), publish_size});
  append_frame(out, frame_type::header, channel_, {scratch_.get(), content_header_size});
  const std::size_t room = frame_max_ - frame_overhead;
  for (std::size_t at = 0; at < message.body.size(); at += room)
    append_frame(out, frame_type::body, channel_, message.body.substr(at, room));
  return {};
}

}  // namespace outboxd::amqp
