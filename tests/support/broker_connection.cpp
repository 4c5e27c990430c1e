// broker_connection: login, channels and errors over rabbitmq-c.
#include "support/broker_connection.hpp"

#include <fmt/format.h>
#include <sys/time.h>

#include "amqp/rabbitmq.hpp"

namespace outboxd::test {
namespace {

constexpr int max_channels = 2047;
constexpr int max_frame = 131072;  // bytes; RabbitMQ's own default
constexpr timeval handshake_timeout{60, 0};

struct close_reason {
  int code;
  std::string words;
  bool connection;
};

close_reason reason_of(const amqp_method_t& method) {
  if (method.id == AMQP_CONNECTION_CLOSE_METHOD) {
    const auto* close = static_cast<const amqp_connection_close_t*>(method.decoded);
    return {close->reply_code, text(close->reply_text), true};
  }
  if (method.id == AMQP_CHANNEL_CLOSE_METHOD) {
    const auto* close = static_cast<const amqp_channel_close_t*>(method.decoded);
    return {close->reply_code, text(close->reply_text), false};
  }
  return {0, fmt::format("unexpected method {:#x}", method.id), true};
}

}  // namespace

amqp_bytes_t bytes(std::string_view text) {
  return amqp_bytes_t{text.size(), const_cast<char*>(text.data())};  // NOLINT: the library only reads
}

std::string text(amqp_bytes_t value) {
  return {static_cast<const char*>(value.bytes), value.len};
}

broker_connection::broker_connection(const std::string& url) : state_{amqp_new_connection()} {
  if (!state_) throw std::bad_alloc{};
  auto parts_text = url;  // the parser writes zero bytes into it
  amqp_connection_info parts{};
  amqp_default_connection_info(&parts);
  if (amqp_parse_url(parts_text.data(), &parts) != AMQP_STATUS_OK || parts.ssl != 0) {
    throw broker_error{"not a URL of the form amqp://user:password@host:port/vhost", 0};
  }
  amqp_socket_t* const tcp = amqp_tcp_socket_new(state());
  if (tcp == nullptr) throw std::bad_alloc{};
  const timeval timeout = handshake_timeout;
  if (const int status = amqp_socket_open_noblock(tcp, parts.host, parts.port, &timeout);
      status != AMQP_STATUS_OK) {
    throw broker_error{fmt::format("cannot connect to RabbitMQ at {}:{}: {}", parts.host, parts.port,
                                   amqp_error_string2(status)),
                       0};
  }
  amqp_set_handshake_timeout(state(), &timeout);
  // Without this capability nobody tells a consumer that its queue was deleted.
  amqp_table_entry_t cancel{bytes("consumer_cancel_notify"), {AMQP_FIELD_KIND_BOOLEAN, {1}}};
  amqp_table_entry_t capabilities{bytes("capabilities"), {AMQP_FIELD_KIND_TABLE, {}}};
  capabilities.value.value.table = {1, &cancel};
  const amqp_table_t properties{1, &capabilities};
  check(amqp_login_with_properties(state(), parts.vhost, max_channels, max_frame, 0, &properties,
                                   AMQP_SASL_METHOD_PLAIN, parts.user, parts.password),
        "login");
  open_channel();
}

broker_connection::~broker_connection() {
  if (state_ && channel_ != 0) {
    const timeval time_limit{1, 0};
    amqp_set_rpc_timeout(state(), &time_limit);
    amqp_connection_close(state(), AMQP_REPLY_SUCCESS);
  }
}

void broker_connection::open_channel() {
  ++channel_;
  amqp_channel_open(state(), channel_);
  check(amqp_get_rpc_reply(state()), "opening a channel");
}

void broker_connection::check(const amqp_rpc_reply_t& reply, std::string_view what) {
  switch (reply.reply_type) {
    case AMQP_RESPONSE_NORMAL:
      return;
    case AMQP_RESPONSE_NONE:
      throw broker_error{fmt::format("{}: no answer", what), 0};
    case AMQP_RESPONSE_LIBRARY_EXCEPTION:
      throw broker_error{fmt::format("{}: {}", what, amqp_error_string2(reply.library_error)), 0};
    case AMQP_RESPONSE_SERVER_EXCEPTION:
      break;
  }
  const auto reason = reason_of(reply.reply);
  if (!reason.connection) {
    amqp_channel_close_ok_t ok{};
    amqp_send_method(state(), channel_, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
    open_channel();
  }
  throw broker_error{fmt::format("{}: {}", what, reason.words), reason.code};
}

}  // namespace outboxd::test
