// handshake: see handshake.hpp.
#include "amqp/handshake.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.hpp"

namespace outboxd::amqp {
namespace {

constexpr std::uint16_t wanted_channel_max = 1;

template <class T>
T lower(T broker, T ours) {
  if (broker == T{0}) return ours;
  if (ours == T{0}) return broker;
  return std::min(broker, ours);
}

}  // namespace

result<tuning> negotiate(const tuning& broker, const handshake_settings& ours) {
  tuning out;
  out.channel_max = lower(broker.channel_max, wanted_channel_max);
  out.frame_max = lower(broker.frame_max, ours.frame_max);
  constexpr std::chrono::seconds longest{65535};  // two bytes on the wire
  out.heartbeat = lower(broker.heartbeat, std::min(ours.heartbeat, longest));
  if (out.frame_max < frame_min_size)
    return permanent(
        fmt::format("frame_max {} is below the {} bytes that AMQP 0-9-1 requires; raise frame_max in the "
                    "broker's configuration",
                    out.frame_max, frame_min_size));
  return out;
}

handshake::handshake(handshake_settings settings)
    : settings_(std::move(settings)),
      output_(protocol_header),
      channel_(publish_channel, settings_.declare_exchanges, channel_opening::manner::looks_first) {}

std::string_view handshake::awaited() const {
  switch (step_) {
    case step::start:
      return "the broker's greeting";
    case step::tune:
      return "the answer to the login";
    case step::open:
      return "the vhost";
    case step::channel:
      return channel_.awaited();
    case step::done:
      return "nothing more";
  }
  return "";
}

error handshake::at(const error& what) const {
  return {what.kind, fmt::format("connecting to {}: {}", settings_.target.display(), what.message), what.why};
}

error handshake::interrupted(std::string_view how) const {
  // RabbitMQ closes the connection without a reason if it cannot parse the bytes, for example if the port is
  // for another protocol.
  return at({fault::transient, fmt::format("{} while waiting for {}", how, awaited())});
}

result<bool> handshake::receive(frame_parser& in) {
  while (step_ != step::done) {
    if (!framed_) {
      if (auto ok = check_greeting(in.unread()); !ok) return tl::make_unexpected(at(ok.error()));
      // The peer probably speaks another protocol: wait for enough bytes to tell which.
      if (const auto bytes = in.unread(); !bytes.empty() && bytes[0] != 1) return false;
    }
    const auto next = in.next();
    if (!next) return tl::make_unexpected(at(next.error()));
    if (!*next) return false;
    framed_ = true;
    if (auto ok = on_frame(**next, in); !ok) return tl::make_unexpected(at(ok.error()));
  }
  return true;
}

result<void> handshake::on_frame(const frame& f, frame_parser& in) {
  if (f.type == frame_type::heartbeat) return {};
  if (f.type != frame_type::method)
    return transient("the broker sent content before the channel was ready; the stream is damaged");
  OUTBOXD_TRY(const auto m, codec_.decode(f.payload));
  return on_method(m, in);
}

result<void> handshake::on_method(const method& m, frame_parser& in) {
  switch (m.id) {
    case AMQP_CONNECTION_CLOSE_METHOD: {
      const auto& close = m.as<amqp_connection_close_t>();
      const amqp_connection_close_ok_t ok{};
      if (auto sent = send(AMQP_CONNECTION_CLOSE_OK_METHOD, &ok, 0); !sent) return sent;
      return on_close(close.reply_code, as_view(close.reply_text));
    }
    case AMQP_CHANNEL_CLOSE_METHOD: {
      const auto& close = m.as<amqp_channel_close_t>();
      OUTBOXD_TRY(const auto missing, channel_.take_missing(close, output_));
      if (missing) return {};
      const amqp_channel_close_ok_t ok{};
      if (auto sent = send(AMQP_CHANNEL_CLOSE_OK_METHOD, &ok, publish_channel); !sent) return sent;
      return on_close(close.reply_code, as_view(close.reply_text));
    }
    case AMQP_CONNECTION_BLOCKED_METHOD:
      blocked_ = printable(as_view(m.as<amqp_connection_blocked_t>().reason));
      return {};
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
      blocked_.reset();
      return {};
    case AMQP_CONNECTION_SECURE_METHOD:
      return permanent(
          "the broker asks for more than user and password (connection.secure); allow PLAIN there");
    default:
      return on_answer(m, in);
  }
}

// Processes the method for which this step waits, and sends the next request.
result<void> handshake::on_answer(const method& m, frame_parser& in) {
  const auto awaited_now = awaited();
  switch (step_) {
    case step::start:
      if (m.id != AMQP_CONNECTION_START_METHOD) break;
      step_ = step::tune;
      broker_ = identity_of(m.as<amqp_connection_start_t>());
      if (auto ok = check_offer(m.as<amqp_connection_start_t>(), settings_.login); !ok) return ok;
      return append_start_ok(output_, settings_.target, settings_.login, settings_.connection_name);
    case step::tune:
      if (m.id != AMQP_CONNECTION_TUNE_METHOD) break;
      step_ = step::open;
      return on_tune(m.as<amqp_connection_tune_t>(), in);
    case step::open:
      if (m.id != AMQP_CONNECTION_OPEN_OK_METHOD) break;
      step_ = step::channel;
      return channel_.begin(output_);
    case step::channel: {
      auto taken = channel_.take(m, output_);
      if (channel_.done()) step_ = step::done;
      return taken;
    }
    case step::done:
      break;
  }
  return transient(
      fmt::format("the broker sent method {} while waiting for {}", method_number(m.id), awaited_now));
}

result<void> handshake::on_tune(const amqp_connection_tune_t& tune, frame_parser& in) {
  const auto tuned =
      negotiate({tune.channel_max, tune.frame_max, std::chrono::seconds(tune.heartbeat)}, settings_);
  if (!tuned) return tl::make_unexpected(tuned.error());
  tuned_ = *tuned;
  in.set_frame_max(tuned_.frame_max);
  amqp_connection_tune_ok_t ok{};
  ok.channel_max = tuned_.channel_max;
  ok.frame_max = tuned_.frame_max;
  ok.heartbeat = static_cast<std::uint16_t>(tuned_.heartbeat.count());
  if (auto sent = send(AMQP_CONNECTION_TUNE_OK_METHOD, &ok, 0); !sent) return sent;
  amqp_connection_open_t open{};
  open.virtual_host = as_bytes(settings_.target.vhost);
  return send(AMQP_CONNECTION_OPEN_METHOD, &open, 0);
}

// Returns an error with the remedy for this AMQP reply code and the request that caused it.
result<void> handshake::on_close(std::uint16_t code, std::string_view text) {
  const std::string said = fmt::format("the broker answered {} {}", code, printable(text));
  const auto fail = [&said](std::string_view advice) {
    return permanent(fmt::format("{}; {}", said, advice));
  };
  const std::string exchange = printable(channel_.declaring());
  switch (code) {
    case AMQP_ACCESS_REFUSED:
      if (!channel_.declaring().empty())
        return fail(fmt::format(
            "grant the user the configure permission on exchange \"{}\", or declare it yourself and "
            "set amqp.declare = false",
            exchange));
      return permanent(
          fmt::format("{}; {}", said,
                      settings_.login == login_by::plain
                          ? "check the user, its password and its permissions"
                          : "check that a user has the name in the client certificate (ssl_cert_login_from) "
                            "and that ssl_options.verify is verify_peer; the broker's log says why"),
          cause::login);
    case AMQP_PRECONDITION_FAILED:
      return fail(fmt::format(
          "exchange \"{}\" exists with other properties: declare it yourself and set amqp.declare = "
          "false, or delete it",
          exchange));
    case AMQP_NOT_ALLOWED:
      if (text.find("limit") != std::string_view::npos)  // the maximum number of connections of the vhost or
                                                         // user is reached
        return transient(fmt::format("{}; raise the limit, or close other connections", said));
      [[fallthrough]];
    case AMQP_INVALID_PATH:
      return fail("check that the vhost exists and that the user may use it");
    case AMQP_NOT_FOUND:
    case AMQP_NOT_IMPLEMENTED:
      return fail("the broker's configuration does not allow what the relay needs");
    default:  // 320 CONNECTION_FORCED, 541 INTERNAL_ERROR and others: the broker is shutting down or has
              // failed
      return transient(fmt::format("{}; outboxd tries again until the broker has recovered", said));
  }
}

result<void> handshake::send(amqp_method_number_t id, const void* fields, std::uint16_t channel) {
  return codec::append_method(output_, channel, id, fields);
}

}  // namespace outboxd::amqp
