// session: see session.hpp.
#include "amqp/session.hpp"

#include <fmt/format.h>

#include "amqp/refusal.hpp"
#include "core/text.hpp"

namespace outboxd::amqp {
namespace {

constexpr std::size_t kept_outcomes = std::size_t{16} * 1024;

// RabbitMQ's reply texts begin with the code's name: "NOT_FOUND - no exchange 'x' in vhost '/'".
tl::unexpected<error> ended(std::string_view what, std::uint16_t code, std::string_view text,
                            session::news& into) {
  auto words = fmt::format("{} {}", code, printable(text));
  auto out = transient(fmt::format("the broker closed the {}: {}", what, words));
  if (is_a_fault(code)) into.fault = std::move(words);
  return out;
}

}  // namespace

void session::news::clear() {
  if (outcomes.capacity() > kept_outcomes) outcomes.shrink_to_fit();
  outcomes.clear();
  blocked.clear();
  unknown.clear();
  secret_updated = false;
}

session::session(session_settings settings)
    : channel_(settings.channel),
      encoder_(settings.channel, settings.frame_max, settings.limits),
      opening_(settings.channel, std::move(settings.declare_exchanges), channel_opening::manner::declares) {}

result<void> session::publish(token id, const message& message, std::string& out) {
  if (auto ok = encoder_.append(message, out); !ok) return ok;
  ledger_.sent(id, message.message_id);
  return {};
}

result<void> session::receive(const frame& f, news& into, std::string& out) {
  if (f.type == frame_type::heartbeat) return {};
  if (f.channel != 0 && f.channel != channel_)
    return transient(fmt::format("the broker sent a frame on channel {}, which is not open", f.channel));
  const bool content = f.type != frame_type::method;
  // On a channel, a method's content must follow it directly (section 4.2.6).
  if (f.channel == channel_ && content != return_.has_value())
    return transient("the broker sent frames of a returned message out of order; the stream is damaged");
  if (content && f.channel == 0)
    return transient("the broker sent content on channel 0; the stream is damaged");
  switch (f.type) {
    case frame_type::header:
      return on_return_header(f.payload);
    case frame_type::body:
      return on_return_body(f.payload);
    case frame_type::heartbeat:
      return {};
    case frame_type::method:
      break;
  }
  OUTBOXD_TRY(const auto m, codec_.decode(f.payload));
  return on_method(m, f.channel, into, out);
}

result<void> session::on_method(const method& m, std::uint16_t channel, news& into, std::string& out) {
  if (channel == channel_) return on_channel_method(m, into, out);
  switch (m.id) {
    case AMQP_CONNECTION_CLOSE_METHOD: {
      const auto& close = m.as<amqp_connection_close_t>();
      const amqp_connection_close_ok_t ok{};
      if (auto sent = codec::append_method(out, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &ok); !sent) return sent;
      return ended("connection", close.reply_code, as_view(close.reply_text), into);
    }
    case AMQP_CONNECTION_CLOSE_OK_METHOD:
      if (!closing_) break;
      into.closed = true;
      return {};
    case update_secret_ok_method:
      if (secrets_sent_ == 0) break;
      --secrets_sent_;
      into.secret_updated = true;
      return {};
    case AMQP_CONNECTION_BLOCKED_METHOD:
      into.blocked.emplace_back(printable(as_view(m.as<amqp_connection_blocked_t>().reason)));
      return {};
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
      into.blocked.emplace_back(std::nullopt);
      return {};
    default:
      break;
  }
  return transient(fmt::format("the broker sent method {}, which is not expected now", method_number(m.id)));
}

result<void> session::on_channel_method(const method& m, news& into, std::string& out) {
  switch (m.id) {
    case AMQP_BASIC_ACK_METHOD: {
      const auto& ack = m.as<amqp_basic_ack_t>();
      return ledger_.ack(ack.delivery_tag, ack.multiple != 0, into.outcomes);
    }
    case AMQP_BASIC_NACK_METHOD: {
      const auto& nack = m.as<amqp_basic_nack_t>();
      return ledger_.nack(nack.delivery_tag, nack.multiple != 0, into.outcomes);
    }
    case AMQP_BASIC_RETURN_METHOD: {
      const auto& back = m.as<amqp_basic_return_t>();
      return_.emplace();
      return_->reason = fmt::format("{} {}", back.reply_code, printable(as_view(back.reply_text)));
      return {};
    }
    case AMQP_CHANNEL_CLOSE_METHOD:
      return on_channel_closed(m.as<amqp_channel_close_t>(), into, out);
    default:
      break;
  }
  if (reopening_) {
    auto taken = opening_.take(m, out);
    reopening_ = !opening_.done();
    return taken;
  }
  return transient(fmt::format("the broker sent method {}, which is not expected now", method_number(m.id)));
}

// The broker has discarded the messages after the one at fault, and may have routed unconfirmed messages
// before it, so the outcome of all these messages is unknown. Delivery tags start again at 1
// (https://www.rabbitmq.com/docs/channels, "Channel exceptions").
result<void> session::on_channel_closed(const amqp_channel_close_t& close, news& into, std::string& out) {
  const amqp_channel_close_ok_t ok{};
  if (auto sent = codec::append_method(out, channel_, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok); !sent) return sent;
  if (reopening_ || closing_ || !is_about_a_message(close.reply_code))
    return ended("channel", close.reply_code, as_view(close.reply_text), into);
  into.unknown = ledger_.close();
  into.refused = refusal_of(close.reply_code, as_view(close.reply_text));
  ledger_ = confirm_ledger();
  reopening_ = true;
  return opening_.begin(out);
}

result<void> session::on_return_header(std::string_view payload) {
  if (return_->header) return transient("the broker sent two content headers for one returned message");
  OUTBOXD_TRY(const auto header, decode_content_header(payload));
  if (auto ok = ledger_.returned(header.message_id, std::move(return_->reason)); !ok) return ok;
  return_->header = true;
  return_->body_left = header.body_size;
  if (header.body_size == 0) return_.reset();
  return {};
}

result<void> session::on_return_body(std::string_view payload) {
  if (!return_->header || payload.size() > return_->body_left)
    return transient(
        "the broker sent more body than announced for a returned message; the stream is damaged");
  return_->body_left -= payload.size();
  if (return_->body_left == 0) return_.reset();
  return {};
}

result<void> session::update_secret(std::string_view secret, std::string& out) {
  OUTBOXD_TRY_VOID(codec::append_update_secret(out, secret));
  ++secrets_sent_;
  return {};
}

void session::close(std::string& out) {
  closing_ = true;
  amqp_connection_close_t close{};
  close.reply_code = AMQP_REPLY_SUCCESS;
  close.reply_text = as_bytes("relay stops");
  static_cast<void>(
      codec::append_method(out, 0, AMQP_CONNECTION_CLOSE_METHOD, &close));  // its size is constant
}

}  // namespace outboxd::amqp
