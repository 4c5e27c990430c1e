// dialer: see dialer.hpp.
#include "amqp/dialer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/write.hpp>

#include "amqp/as_result.hpp"
#include "amqp/reach.hpp"

namespace outboxd::amqp {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {}

dialer::dialer(asio::any_io_executor executor, handshake_settings settings, std::chrono::milliseconds limit,
               tls_settings tls)
    : peer_(settings.target.display()),
      host_(settings.target.host),
      port_(settings.target.port),
      wants_tls_(settings.target.tls),
      tls_(std::move(tls)),
      limit_(limit),
      wire_(std::make_unique<transport>(executor)),
      resolver_(executor),
      limit_timer_(executor),
      resolved_timer_(executor),
      handshake_(std::move(settings)) {}

void dialer::stop(std::string_view why) {
  if (stopped_.empty()) stopped_ = why;
  limit_timer_.cancel();
  resolved_timer_.cancel();
  resolver_.cancel();
  if (wire_) wire_->close();
}

void dialer::arm_limit() {
  limit_timer_.expires_after(limit_);
  limit_timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec) self->stop(fmt::format("no success within {} ms", self->limit_.count()));
  });
}

tl::unexpected<error> dialer::failed(std::string_view otherwise) const {
  return transient(fmt::format("connecting to {}: {}", peer_, stopped_.empty() ? otherwise : stopped_));
}

// A name lookup cannot be interrupted, only abandoned: its late answer is then ignored.
asio::awaitable<result<dialer::endpoints>> dialer::resolve(std::shared_ptr<dialer> self) {
  error_code not_an_address;
  const auto address = asio::ip::make_address(self->host_, not_an_address);
  if (!not_an_address) co_return endpoints{tcp::endpoint(address, self->port_)};

  self->resolver_.async_resolve(
      self->host_, std::to_string(self->port_), tcp::resolver::numeric_service,
      [self](error_code ec, const tcp::resolver::results_type& found) {
        self->resolved_ =
            ec ? result<endpoints>(self->failed(fmt::format("looking up the host: {}", ec.message())))
               : result<endpoints>(endpoints(found.begin(), found.end()));
        self->resolved_timer_.cancel();
      });
  self->resolved_timer_.expires_at(asio::steady_timer::time_point::max());
  co_await self->resolved_timer_.async_wait(as_result);
  if (!self->stopped_.empty() || !self->resolved_) co_return self->failed("cancelled");
  co_return std::move(*self->resolved_);
}

asio::awaitable<result<void>> dialer::connect(std::shared_ptr<dialer> self, endpoints to) {
  // A dead machine does not answer at all. If there are other addresses, each attempt may take at most this
  // long.
  constexpr std::chrono::milliseconds longest_share(1'500);
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(to.size(), 1));
  tcp::socket& socket = self->wire_->socket();
  const auto reached = co_await reach(socket, std::move(to), std::min(longest_share, self->limit_ / count));
  if (!self->stopped_.empty()) co_return self->failed("");
  if (!reached) co_return self->failed(reached.error().message);
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  // TCP_USER_TIMEOUT is not set: the heartbeat detects a dead broker, and that option would also end the
  // connection to a healthy broker that has an alarm and therefore does not read (tcp_probe_timer in Linux
  // also counts a closed window).
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  socket.non_blocking(true, ignored);
  co_return result<void>();
}

// Reads the files again for each connection, because certificates are renewed while the relay runs.
asio::awaitable<result<void>> dialer::secure(std::shared_ptr<dialer> self) {
  auto context = make_tls_context(self->tls_);
  if (!context)
    co_return permanent(fmt::format("connecting to {}: {}", self->peer_, context.error().message));
  self->certificate_expires_ = context->certificate_expires;
  auto& stream = self->wire_->secure(context->it);
  name_peer(stream.native_handle(), self->host_, self->tls_.verify == verification::full);
  // Only this callback learns which certificate OpenSSL rejects first. The callback is stored in the dialer's
  // own stream, so it must not own the dialer.
  stream.set_verify_callback([weak = std::weak_ptr(self)](bool good, asio::ssl::verify_context& of) {
    if (const auto dialing = weak.lock(); !good && dialing)
      dialing->refused_ = refusal_of(of.native_handle());
    return good;
  });
  const auto [ec] = co_await stream.async_handshake(asio::ssl::stream_base::client, as_result);
  if (!self->stopped_.empty()) co_return self->failed("");
  if (!ec) co_return result<void>();
  const auto words =
      fmt::format("connecting to {}: {}", self->peer_, tls_words(ec, self->refused_, self->host_));
  if (is_about_tls(ec) || self->refused_.code != 0) co_return permanent(words);
  co_return transient(words);
}

asio::awaitable<result<void>> dialer::shake_hands(std::shared_ptr<dialer> self) {
  handshake& shake = self->handshake_;
  for (;;) {
    if (!shake.output().empty()) {
      const auto [ec, sent] =
          co_await asio::async_write(*self->wire_, asio::buffer(shake.output()), as_result);
      if (!self->stopped_.empty()) co_return self->failed("");
      // The reason for which the broker ended TLS may not have been read yet.
      if (ec && !self->wants_tls_)
        co_return tl::make_unexpected(shake.interrupted(fmt::format("sending failed ({})", ec.message())));
      shake.output().clear();
    }
    const auto room = self->parser_.prepare();
    const auto [ec, got] =
        co_await self->wire_->async_read_some(asio::buffer(room.data(), room.size()), as_result);
    if (!self->stopped_.empty()) co_return self->failed("");
    if (is_end_of_stream(ec)) co_return tl::make_unexpected(shake.interrupted("the broker hung up"));
    // In TLS 1.3, the broker rejects a client certificate only after the handshake.
    if (is_about_tls(ec))
      co_return permanent(
          fmt::format("connecting to {}: {}", self->peer_, tls_words(ec, self->refused_, self->host_)));
    if (ec) co_return tl::make_unexpected(shake.interrupted(ec.message()));
    self->parser_.commit(got);
    const auto done = shake.receive(self->parser_);
    if (!done) {
      self->wire_->try_write(shake.output());  // the close-ok, which is optional here
      co_return tl::make_unexpected(done.error());
    }
    if (*done) co_return result<void>();
  }
}

asio::awaitable<result<dialer::line>> dialer::run(std::shared_ptr<dialer> self) {
  if (!self->stopped_.empty()) co_return self->failed("");
  self->arm_limit();
  auto to = co_await resolve(self);
  result<void> ok = to ? result<void>() : tl::make_unexpected(to.error());
  if (ok) ok = co_await connect(self, std::move(*to));
  if (ok && self->wants_tls_) ok = co_await secure(self);
  if (ok) ok = co_await shake_hands(self);
  self->limit_timer_.cancel();
  if (ok && !self->stopped_.empty()) ok = self->failed("");
  if (!ok) {
    self->stop("done");
    co_return tl::make_unexpected(ok.error());
  }
  co_return line{std::move(self->wire_),     std::move(self->parser_),   self->handshake_.tuned(),
                 self->handshake_.blocked(), self->handshake_.created(), self->handshake_.broker(),
                 self->certificate_expires_};
}

}  // namespace outboxd::amqp
