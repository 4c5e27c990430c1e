// handshake: see the header.
#include "amqp/handshake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "amqp/text.hpp"

namespace outboxd::amqp {
namespace {

constexpr std::uint16_t wanted_channel_max = 1;
constexpr std::string_view protocol_header{"AMQP\0\0\x09\x01", 8};

amqp_table_entry_t entry(std::string_view name, std::string_view value) {
  amqp_table_entry_t e{};
  e.key = as_bytes(name);
  e.value.kind = AMQP_FIELD_KIND_UTF8;
  e.value.value.bytes = as_bytes(value);
  return e;
}

amqp_table_entry_t entry(std::string_view name, bool value) {
  amqp_table_entry_t e{};
  e.key = as_bytes(name);
  e.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  e.value.value.boolean = value;
  return e;
}

amqp_table_entry_t entry(std::string_view name, std::span<amqp_table_entry_t> table) {
  amqp_table_entry_t e{};
  e.key = as_bytes(name);
  e.value.kind = AMQP_FIELD_KIND_TABLE;
  e.value.value.table = {static_cast<int>(table.size()), table.data()};
  return e;
}

const amqp_field_value_t* find(const amqp_table_t& table, std::string_view name) {
  for (const auto& e : std::span(table.entries, static_cast<std::size_t>(table.num_entries)))
    if (as_view(e.key) == name) return &e.value;
  return nullptr;
}

bool capable(const amqp_table_t& server_properties, std::string_view name) {
  const auto* const capabilities = find(server_properties, "capabilities");
  if (capabilities == nullptr || capabilities->kind != AMQP_FIELD_KIND_TABLE) return false;
  const auto* const value = find(capabilities->value.table, name);
  return value != nullptr && value->kind == AMQP_FIELD_KIND_BOOLEAN && value->value.boolean != 0;
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const auto end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

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
  out.heartbeat = lower(broker.heartbeat, ours.heartbeat);
  if (out.frame_max < frame_min_size)
    return permanent(
        fmt::format("frame_max {} is below the {} bytes that AMQP 0-9-1 requires; raise frame_max in the "
                    "broker's configuration",
                    out.frame_max, frame_min_size));
  return out;
}

handshake::handshake(handshake_settings settings)
    : settings_(std::move(settings)), output_(protocol_header) {}

std::string_view handshake::awaited(step s) {
  switch (s) {
    case step::start:
      return "the broker's greeting";
    case step::tune:
      return "the answer to the login";
    case step::open:
      return "the vhost";
    case step::channel:
      return "the channel";
    case step::confirm:
      return "confirm mode";
    case step::declare:
      return "the declaration of the exchange";
    case step::done:
      return "nothing more";
  }
  return "";
}

error handshake::at(fault kind, std::string_view what) const {
  return {kind, fmt::format("connecting to {}: {}", settings_.target.display(), what)};
}

error handshake::interrupted(std::string_view how) const {
  // RabbitMQ closes without a word when it cannot read what it gets, for one when the port is another
  // protocol's.
  return at(fault::transient, fmt::format("{} while waiting for {}", how, awaited(step_)));
}

result<bool> handshake::receive(frame_parser& in) {
  while (step_ != step::done) {
    if (!framed_) {
      if (auto ok = not_amqp(in.unread()); !ok) return tl::make_unexpected(ok.error());
      // The start of another protocol's bytes: wait until they can be told.
      if (const auto bytes = in.unread(); !bytes.empty() && bytes[0] != 1) return false;
    }
    const auto next = in.next();
    if (!next) return tl::make_unexpected(at(next.error().kind, next.error().message));
    if (!*next) return false;
    framed_ = true;
    if (auto ok = on_frame(**next, in); !ok)
      return tl::make_unexpected(at(ok.error().kind, ok.error().message));
  }
  return true;
}

// Tells what speaks on this port when its first byte is not that of a method frame.
result<void> handshake::not_amqp(std::string_view bytes) const {
  const auto fail = [this](std::string_view what) { return tl::make_unexpected(at(fault::permanent, what)); };
  if (bytes.empty() || bytes[0] == 1) return {};
  if (bytes.starts_with("AMQP")) {
    if (bytes.size() < protocol_header.size()) return {};
    return fail(fmt::format(
        "the broker speaks AMQP {}.{}.{} (protocol id {}) and not 0-9-1; use RabbitMQ's AMQP 0-9-1 port",
        int{bytes[5]}, int{bytes[6]}, int{bytes[7]}, int{bytes[4]}));
  }
  if (std::string_view("AMQP").starts_with(bytes)) return {};
  if (bytes[0] == 0x15 || bytes[0] == 0x16)
    return fail(
        "the port answers with TLS, which is not supported yet; use the broker's plain AMQP port, usually "
        "5672");
  if (bytes.starts_with("HTTP/"))
    return fail("the port answers with HTTP, not AMQP; use the broker's AMQP port, usually 5672");
  if (std::string_view("HTTP/").starts_with(bytes)) return {};
  return fail("the port does not answer with AMQP 0-9-1; use the broker's AMQP port, usually 5672");
}

result<void> handshake::on_frame(const frame& f, frame_parser& in) {
  if (f.type == frame_type::heartbeat) return {};
  if (f.type != frame_type::method)
    return transient("the broker sent content before the channel was ready; the stream is damaged");
  const auto m = codec_.decode(f.payload);
  if (!m) return tl::make_unexpected(m.error());
  return on_method(*m, in);
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

// The one method that this step waits for, and the next request.
result<void> handshake::on_answer(const method& m, frame_parser& in) {
  const auto step_now = step_;
  switch (step_) {
    case step::start:
      if (m.id != AMQP_CONNECTION_START_METHOD) break;
      step_ = step::tune;
      return on_start(m.as<amqp_connection_start_t>());
    case step::tune:
      if (m.id != AMQP_CONNECTION_TUNE_METHOD) break;
      step_ = step::open;
      return on_tune(m.as<amqp_connection_tune_t>(), in);
    case step::open: {
      if (m.id != AMQP_CONNECTION_OPEN_OK_METHOD) break;
      step_ = step::channel;
      const amqp_channel_open_t open{};
      return send(AMQP_CHANNEL_OPEN_METHOD, &open, publish_channel);
    }
    case step::channel: {
      if (m.id != AMQP_CHANNEL_OPEN_OK_METHOD) break;
      step_ = step::confirm;
      const amqp_confirm_select_t select{};
      return send(AMQP_CONFIRM_SELECT_METHOD, &select, publish_channel);
    }
    case step::confirm:
      if (m.id != AMQP_CONFIRM_SELECT_OK_METHOD) break;
      return on_confirm();
    case step::declare:
      if (m.id != AMQP_EXCHANGE_DECLARE_OK_METHOD) break;
      step_ = step::done;
      return {};
    case step::done:
      break;
  }
  return transient(
      fmt::format("the broker sent method {} while waiting for {}", method_number(m.id), awaited(step_now)));
}

result<void> handshake::on_start(const amqp_connection_start_t& start) {
  if (start.version_major != 0 || start.version_minor != 9)
    return permanent(
        fmt::format("the broker speaks AMQP {}-{}, not 0-9-1", start.version_major, start.version_minor));
  if (!has_word(as_view(start.mechanisms), "PLAIN"))
    return permanent(
        "the broker does not offer login with user and password; allow PLAIN in auth_mechanisms");
  for (const std::string_view needed : {"publisher_confirms", "basic.nack"})
    if (!capable(start.server_properties, needed))
      return permanent(fmt::format(
          "the broker lacks {}, without which a publish cannot be known to have arrived; use RabbitMQ",
          needed));

  std::array capabilities{entry("publisher_confirms", true), entry("basic.nack", true),
                          entry("connection.blocked", true), entry("consumer_cancel_notify", true),
                          entry("authentication_failure_close", true)};
  std::array properties{entry("product", "outboxd"), entry("version", OUTBOXD_VERSION),
                        entry("platform", "C++"), entry("connection_name", settings_.connection_name),
                        entry("capabilities", std::span<amqp_table_entry_t>(capabilities))};
  std::string response;  // RFC 4616: authorization identity (none), user, password
  response.append(1, '\0').append(settings_.target.user).append(1, '\0').append(settings_.target.password);
  amqp_connection_start_ok_t ok{};
  ok.client_properties = {static_cast<int>(properties.size()), properties.data()};
  ok.mechanism = as_bytes("PLAIN");
  ok.response = as_bytes(response);
  ok.locale = as_bytes("en_US");
  return send(AMQP_CONNECTION_START_OK_METHOD, &ok, 0);
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

result<void> handshake::on_confirm() {
  if (!settings_.declare_exchange) {
    step_ = step::done;
    return {};
  }
  step_ = step::declare;
  amqp_exchange_declare_t declare{};
  declare.exchange = as_bytes(*settings_.declare_exchange);
  declare.type = as_bytes("topic");
  declare.durable = 1;
  return send(AMQP_EXCHANGE_DECLARE_METHOD, &declare, publish_channel);
}

// What to do about it, by reply code (section 1.2) and by what was asked for.
result<void> handshake::on_close(std::uint16_t code, std::string_view text) {
  const std::string said = fmt::format("the broker answered {} {}", code, printable(text));
  const auto fail = [&said](std::string_view advice) {
    return permanent(fmt::format("{}; {}", said, advice));
  };
  const std::string exchange = printable(settings_.declare_exchange.value_or(""));
  switch (code) {
    case AMQP_ACCESS_REFUSED:
      if (step_ == step::declare)
        return fail(fmt::format(
            "grant the user the configure permission on exchange \"{}\", or declare it yourself and "
            "set amqp.declare = false",
            exchange));
      return fail("check the user, its password and its permissions");
    case AMQP_PRECONDITION_FAILED:
      return fail(fmt::format(
          "exchange \"{}\" exists with other properties: declare it yourself and set amqp.declare = "
          "false, or delete it",
          exchange));
    case AMQP_NOT_ALLOWED:
    case AMQP_INVALID_PATH:
      return fail("check that the vhost exists and that the user may use it");
    case AMQP_NOT_FOUND:
    case AMQP_NOT_IMPLEMENTED:
      return fail("the broker's configuration does not allow what the relay needs");
    default:  // 320 CONNECTION_FORCED, 541 INTERNAL_ERROR and the like: the broker stops or is in trouble
      return transient(fmt::format("{}; trying again helps once the broker is well", said));
  }
}

result<void> handshake::send(amqp_method_number_t id, const void* fields, std::uint16_t channel) {
  return codec::append_method(output_, channel, id, fields);
}

}  // namespace outboxd::amqp
