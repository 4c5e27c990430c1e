// codec: see codec.hpp.
#include "amqp/codec.hpp"

#include <fmt/format.h>

#include <array>

#include "amqp/frame.hpp"
#include "core/big_endian.hpp"

namespace outboxd::amqp {
namespace {

// Of these methods, only connection.start has a table. decode() limits the size of that table, and thereby
// its nesting, because rabbitmq-c recurses without a limit.
bool expected_from_broker(amqp_method_number_t id) {
  switch (id) {
    case AMQP_CONNECTION_START_METHOD:
    case AMQP_CONNECTION_SECURE_METHOD:
    case AMQP_CONNECTION_TUNE_METHOD:
    case AMQP_CONNECTION_OPEN_OK_METHOD:
    case AMQP_CONNECTION_CLOSE_METHOD:
    case AMQP_CONNECTION_CLOSE_OK_METHOD:
    case AMQP_CONNECTION_BLOCKED_METHOD:
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
    case AMQP_CHANNEL_OPEN_OK_METHOD:
    case AMQP_CHANNEL_CLOSE_METHOD:
    case AMQP_CHANNEL_CLOSE_OK_METHOD:
    case AMQP_CONFIRM_SELECT_OK_METHOD:
    case AMQP_EXCHANGE_DECLARE_OK_METHOD:
    case AMQP_BASIC_RETURN_METHOD:
    case AMQP_BASIC_ACK_METHOD:
    case AMQP_BASIC_NACK_METHOD:
      return true;
    default:
      return false;
  }
}

// Reads fields from the beginning of a payload. After a field that exceeds the payload, all further fields
// are empty and ok() is false.
class reader {
 public:
  explicit reader(std::string_view bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::uint64_t number(std::size_t bytes) { return read_big_endian(take(bytes)); }
  std::string_view short_string() { return take(static_cast<std::size_t>(number(1))); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

std::string method_number(amqp_method_number_t id) {
  return fmt::format("{}.{}", id >> 16U, id & 0xFFFFU);
}

result<void> codec::append_method(std::string& out, std::uint16_t channel, amqp_method_number_t id,
                                  const void* fields) {
  std::array<char, frame_max_untuned - frame_overhead> scratch;
  std::string head;
  append_big_endian(head, id);
  const amqp_bytes_t room{scratch.size() - head.size(), scratch.data() + head.size()};
  // Returns the length, not 0 as its documentation says.
  const int length = amqp_encode_method(id, const_cast<void*>(fields), room);
  if (length < 0)
    return permanent(fmt::format("method {} does not fit: a text is longer than AMQP allows ({})",
                                 method_number(id), amqp_error_string2(length)));
  head.copy(scratch.data(), head.size());
  append_frame(out, frame_type::method, channel,
               {scratch.data(), head.size() + static_cast<std::size_t>(length)});
  return {};
}

// See https://www.rabbitmq.com/amqp-0-9-1-reference, "connection.update-secret": a long string and a short
// string.
result<void> codec::append_update_secret(std::string& out, std::string_view secret) {
  constexpr amqp_method_number_t update_secret = 10U << 16U | 70U;
  constexpr std::string_view reason = "the token ends";
  std::string payload;
  append_big_endian(payload, update_secret);
  append_big_endian(payload, static_cast<std::uint32_t>(secret.size()));
  payload += secret;
  payload += static_cast<char>(reason.size());
  payload += reason;
  if (payload.size() > frame_max_untuned - frame_overhead)
    return permanent(fmt::format("a password of {} bytes is larger than AMQP allows", secret.size()));
  append_frame(out, frame_type::method, 0, payload);
  return {};
}

result<method> codec::decode(std::string_view payload) {
  if (payload.size() < 4)
    return transient("the broker sent a method frame of fewer than 4 bytes; the stream is damaged");
  const auto id = static_cast<amqp_method_number_t>(read_big_endian(payload.substr(0, 4)));
  if (id == update_secret_ok_method) return method{id, nullptr};
  if (!expected_from_broker(id))
    return transient(
        fmt::format("the broker sent method {}, which a publisher does not expect", method_number(id)));
  if (id == AMQP_CONNECTION_START_METHOD && payload.size() > frame_max_untuned)
    return transient(fmt::format(
        "the broker sent a greeting of {} bytes, which is larger than a first frame may be", payload.size()));
  pool_.recycle();
  method out{id, nullptr};
  const int status = amqp_decode_method(id, pool_.get(), as_bytes(payload.substr(4)), &out.fields);
  if (status < 0)
    return transient(fmt::format("the broker sent method {} with damaged fields", method_number(id)));
  return out;
}

result<content_header> decode_content_header(std::string_view payload) {
  reader in(payload);
  content_header out;
  const auto class_id = in.number(2);
  in.number(2);  // weight, unused
  out.body_size = in.number(8);
  const auto flags = in.number(2);
  constexpr std::uint64_t flags_go_on =
      1;  // set if more flags follow; no class has that many properties, so they cannot be decoded
  if (flags & AMQP_BASIC_CONTENT_TYPE_FLAG) in.short_string();
  if (flags & AMQP_BASIC_CONTENT_ENCODING_FLAG) in.short_string();
  if (flags & AMQP_BASIC_HEADERS_FLAG) in.take(static_cast<std::size_t>(in.number(4)));
  if (flags & AMQP_BASIC_DELIVERY_MODE_FLAG) in.number(1);
  if (flags & AMQP_BASIC_PRIORITY_FLAG) in.number(1);
  if (flags & AMQP_BASIC_CORRELATION_ID_FLAG) in.short_string();
  if (flags & AMQP_BASIC_REPLY_TO_FLAG) in.short_string();
  if (flags & AMQP_BASIC_EXPIRATION_FLAG) in.short_string();
  if (flags & AMQP_BASIC_MESSAGE_ID_FLAG) out.message_id = in.short_string();
  if (!in.ok() || class_id != AMQP_BASIC_CLASS || (flags & flags_go_on) != 0)
    return transient("the broker sent a damaged content header");
  return out;
}

}  // namespace outboxd::amqp
