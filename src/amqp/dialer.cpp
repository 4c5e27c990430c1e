// dialer: see the header.
#include "amqp/dialer.hpp"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace outboxd::amqp {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {
constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
}

dialer::dialer(asio::any_io_executor executor, handshake_settings settings, std::chrono::milliseconds limit)
    : peer_(settings.target.display()),
      host_(settings.target.host),
      port_(settings.target.port),
      limit_(limit),
      socket_(executor),
      resolver_(executor),
      limit_timer_(executor),
      resolved_timer_(executor),
      handshake_(std::move(settings)) {}

void dialer::stop(std::string_view why) {
  if (stopped_.empty()) stopped_ = why;
  error_code ignored;
  limit_timer_.cancel();
  resolved_timer_.cancel();
  resolver_.cancel();
  socket_.close(ignored);
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

// The look-up cannot be interrupted, only left behind: its answer then comes to a dialer that nobody waits
// for.
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
  std::string problem = "the host has no address";
  for (const tcp::endpoint& endpoint : to) {
    error_code ignored;
    self->socket_.close(ignored);
    const auto [ec] = co_await self->socket_.async_connect(endpoint, as_result);
    if (!self->stopped_.empty() || ec == asio::error::operation_aborted) co_return self->failed("cancelled");
    if (ec) {
      problem = fmt::format("{} port {}: {}", endpoint.address().to_string(), endpoint.port(), ec.message());
      continue;
    }
    self->socket_.set_option(tcp::no_delay(true), ignored);
    // No TCP_USER_TIMEOUT: the heartbeat finds a dead broker, and that option would also end a connection
    // whose broker, in an alarm, reads nothing but is well (tcp_probe_timer in Linux counts a closed window
    // as well).
    self->socket_.set_option(asio::socket_base::keep_alive(true), ignored);
    self->socket_.non_blocking(true, ignored);
    co_return result<void>();
  }
  co_return self->failed(problem);
}

asio::awaitable<result<void>> dialer::shake_hands(std::shared_ptr<dialer> self) {
  handshake& shake = self->handshake_;
  for (;;) {
    if (!shake.output().empty()) {
      const auto [ec, sent] =
          co_await asio::async_write(self->socket_, asio::buffer(shake.output()), as_result);
      if (!self->stopped_.empty()) co_return self->failed("");
      if (ec)
        co_return tl::make_unexpected(shake.interrupted(fmt::format("sending failed ({})", ec.message())));
      shake.output().clear();
    }
    const auto room = self->parser_.prepare();
    const auto [ec, got] =
        co_await self->socket_.async_read_some(asio::buffer(room.data(), room.size()), as_result);
    if (!self->stopped_.empty()) co_return self->failed("");
    if (ec == asio::error::eof) co_return tl::make_unexpected(shake.interrupted("the broker hung up"));
    if (ec) co_return tl::make_unexpected(shake.interrupted(ec.message()));
    self->parser_.commit(got);
    const auto done = shake.receive(self->parser_);
    if (!done) {
      error_code ignored;  // the close-ok; it does not matter much
      self->socket_.write_some(asio::buffer(shake.output()), ignored);
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
  if (ok) ok = co_await shake_hands(self);
  self->limit_timer_.cancel();
  if (ok && !self->stopped_.empty()) ok = self->failed("");
  if (!ok) {
    self->stop("done");
    co_return tl::make_unexpected(ok.error());
  }
  co_return line{std::move(self->socket_), std::move(self->parser_), self->handshake_.tuned(),
                 self->handshake_.blocked()};
}

}  // namespace outboxd::amqp
