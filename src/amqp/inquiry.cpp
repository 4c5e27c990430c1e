#include "amqp/inquiry.hpp"

#include <fmt/format.h>

#include <boost/asio/write.hpp>

#include "amqp/as_result.hpp"
#include "core/big_endian.hpp"
#include "core/text.hpp"

namespace outboxd::amqp {
namespace asio = boost::asio;

namespace {

// Cancels the socket's operations when the time limit has expired.
class limit {
 public:
  limit(transport::tcp::socket& socket, std::chrono::milliseconds timeout) : timer_(socket.get_executor()) {
    timer_.expires_after(timeout);
    timer_.async_wait([&socket, over = over_](boost::system::error_code cancelled) {
      boost::system::error_code ignored;
      if (!cancelled && !*over) socket.cancel(ignored);
    });
  }
  ~limit() { *over_ = true; }
  limit(const limit&) = delete;
  limit& operator=(const limit&) = delete;

 private:
  // The handler may already be queued when the answer arrives.
  std::shared_ptr<bool> over_ = std::make_shared<bool>(false);
  asio::steady_timer timer_;
};

tl::unexpected<error> broken(boost::system::error_code why) {
  if (why == asio::error::operation_aborted) return transient("the broker did not answer in time");
  return transient(fmt::format("the connection broke: {}", why.message()));
}

// Class, weight, body size and the only property (section 4.2.6.1); an empty message has no body frame.
std::string header_with_expiration(std::string_view expiration) {
  std::string out;
  append_big_endian(out, static_cast<std::uint16_t>(AMQP_BASIC_CLASS));
  append_big_endian(out, std::uint16_t{0});
  append_big_endian(out, std::uint64_t{0});
  append_big_endian(out, static_cast<std::uint16_t>(AMQP_BASIC_EXPIRATION_FLAG));
  append_big_endian(out, static_cast<std::uint8_t>(expiration.size()));
  out += expiration;
  return out;
}

amqp_exchange_declare_t declaration(std::string_view name) {
  amqp_exchange_declare_t out{};
  out.exchange = as_bytes(name);
  out.type = as_bytes("topic");
  out.durable = 1;
  return out;
}

// The requests to send after the broker has closed the channel.
result<std::string> reopening() {
  const amqp_channel_close_ok_t ok{};
  const amqp_channel_open_t open{};
  const amqp_confirm_select_t select{};
  std::string out;
  auto fits = codec::append_method(out, publish_channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
  if (fits) fits = codec::append_method(out, publish_channel, AMQP_CHANNEL_OPEN_METHOD, &open);
  if (fits) fits = codec::append_method(out, publish_channel, AMQP_CONFIRM_SELECT_METHOD, &select);
  if (!fits) return tl::make_unexpected(fits.error());
  return out;
}

}  // namespace

inquiry::inquiry(dialer::line line, std::chrono::milliseconds timeout)
    : line_(std::move(line)), timeout_(timeout) {}

inquiry::answer<reply> inquiry::exchange_exists(std::string_view name) {
  auto declare = declaration(name);
  declare.passive = 1;
  std::string request;
  if (auto fits = codec::append_method(request, publish_channel, AMQP_EXCHANGE_DECLARE_METHOD, &declare);
      !fits)
    co_return tl::make_unexpected(fits.error());
  co_return co_await ask(std::move(request), AMQP_EXCHANGE_DECLARE_OK_METHOD);
}

inquiry::answer<reply> inquiry::same_as_declared(std::string_view name) {
  const auto declare = declaration(name);
  std::string request;
  if (auto fits = codec::append_method(request, publish_channel, AMQP_EXCHANGE_DECLARE_METHOD, &declare);
      !fits)
    co_return tl::make_unexpected(fits.error());
  co_return co_await ask(std::move(request), AMQP_EXCHANGE_DECLARE_OK_METHOD);
}

inquiry::answer<reply> inquiry::may_declare(std::string_view name) {
  auto declare = declaration(name);
  amqp_table_entry_t no_text{};
  no_text.key = as_bytes("alternate-exchange");
  no_text.value.kind = AMQP_FIELD_KIND_I32;
  no_text.value.value.i32 = 0;
  declare.arguments = {1, &no_text};
  std::string request;
  if (auto fits = codec::append_method(request, publish_channel, AMQP_EXCHANGE_DECLARE_METHOD, &declare);
      !fits)
    co_return tl::make_unexpected(fits.error());
  co_return co_await ask(std::move(request), AMQP_EXCHANGE_DECLARE_OK_METHOD);
}

inquiry::answer<reply> inquiry::may_publish(std::string_view exchange) {
  amqp_basic_publish_t publish{};
  publish.exchange = as_bytes(exchange);
  publish.routing_key = as_bytes("outboxd.check");
  publish.mandatory = 1;
  std::string request;
  if (auto fits = codec::append_method(request, publish_channel, AMQP_BASIC_PUBLISH_METHOD, &publish); !fits)
    co_return tl::make_unexpected(fits.error());
  append_frame(request, frame_type::header, publish_channel, header_with_expiration("outboxd check"));
  co_return co_await ask(std::move(request), AMQP_BASIC_ACK_METHOD);
}

inquiry::answer<reply> inquiry::ask(std::string request, amqp_method_number_t yes) {
  const limit until(line_.wire->socket(), timeout_);
  if (auto sent = co_await send(request); !sent) co_return tl::make_unexpected(sent.error());
  for (;;) {
    OUTBOXD_CO_TRY(const auto said, co_await next_method());
    if (said.id == yes) co_return reply{};
    if (said.id != AMQP_CHANNEL_CLOSE_METHOD) continue;
    const auto& close = said.as<amqp_channel_close_t>();
    reply refusal{close.reply_code, printable(as_view(close.reply_text))};
    OUTBOXD_CO_TRY(const auto again, reopening());
    if (auto sent = co_await send(again); !sent) co_return tl::make_unexpected(sent.error());
    for (amqp_method_number_t got = 0; got != AMQP_CONFIRM_SELECT_OK_METHOD;) {
      OUTBOXD_CO_TRY(const auto next, co_await next_method());
      got = next.id;
    }
    co_return refusal;
  }
}

// Skips content, which only a returned message could have.
inquiry::answer<method> inquiry::next_method() {
  for (;;) {
    OUTBOXD_CO_TRY(const auto frame, line_.parser.next());
    if (!frame) {
      const auto room = line_.parser.prepare();
      const auto [ec, got] =
          co_await line_.wire->async_read_some(asio::buffer(room.data(), room.size()), as_result);
      if (ec) co_return broken(ec);
      line_.parser.commit(got);
      continue;
    }
    if (frame->type != frame_type::method) continue;
    const auto said = codec_.decode(frame->payload);
    if (!said) co_return said;
    if (said->id == AMQP_CONNECTION_CLOSE_METHOD) {
      const auto& close = said->as<amqp_connection_close_t>();
      co_return transient(fmt::format("the broker closed the connection: {} {}", close.reply_code,
                                      printable(as_view(close.reply_text))));
    }
    if (said->id == AMQP_CONNECTION_BLOCKED_METHOD)
      line_.blocked = printable(as_view(said->as<amqp_connection_blocked_t>().reason));
    else if (said->id == AMQP_CONNECTION_UNBLOCKED_METHOD)
      line_.blocked.reset();
    else
      co_return said;
  }
}

asio::awaitable<result<void>> inquiry::send(std::string_view bytes) {
  const auto [ec, sent] =
      co_await asio::async_write(*line_.wire, asio::buffer(bytes.data(), bytes.size()), as_result);
  if (ec) co_return broken(ec);
  co_return result<void>();
}

asio::awaitable<void> inquiry::close() {
  const limit until(line_.wire->socket(),
                    std::min<std::chrono::milliseconds>(timeout_, std::chrono::seconds(1)));
  amqp_connection_close_t close{};
  close.reply_code = AMQP_REPLY_SUCCESS;
  std::string request;
  bool more = codec::append_method(request, 0, AMQP_CONNECTION_CLOSE_METHOD, &close).has_value();
  const auto sent = co_await send(request);
  more = more && sent;
  while (more) {
    const auto said = co_await next_method();
    more = said && said->id != AMQP_CONNECTION_CLOSE_OK_METHOD;
  }
  line_.wire->close();
}

}  // namespace outboxd::amqp
