// link: see link.hpp.
#include "amqp/link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "amqp/as_result.hpp"
#include "core/failpoint.hpp"

namespace outboxd::amqp {
namespace asio = boost::asio;

namespace {

// A generous estimate of the method, property and frame bytes of a message in addition to its texts.
constexpr std::size_t overhead_guess = 512;

}  // namespace

link::link(asio::any_io_executor executor, connection_settings settings)
    : executor_(std::move(executor)),
      settings_(std::move(settings)),
      peer_(settings_.target.display()),
      heartbeat_timer_(executor_),
      close_timer_(executor_) {}

asio::awaitable<result<void>> link::open(std::shared_ptr<link> self) {
  if (self->end_ || self->dialer_ || self->session_)
    co_return transient("a connection is opened only once; make a new one");
  const connection_settings& s = self->settings_;
  handshake_settings shake{s.target,      s.connection_name,   s.heartbeat,
                           frame_max_own, s.declare_exchanges, s.login};
  self->dialer_ = std::make_shared<dialer>(self->executor_, std::move(shake), s.connect_timeout, s.tls);
  auto line = co_await dialer::run(self->dialer_);
  self->dialer_.reset();
  if (self->end_) co_return tl::make_unexpected(*self->end_);
  if (!line) {
    self->end_ = line.error();
    co_return tl::make_unexpected(line.error());
  }
  self->begin(std::move(*line));
  co_return result<void>();
}

void link::begin(dialer::line line) {
  wire_ = std::move(line.wire);
  parser_ = std::move(line.parser);
  session_.emplace(session_settings{.channel = publish_channel,
                                    .frame_max = line.tuned.frame_max,
                                    .declare_exchanges = settings_.declare_exchanges,
                                    .limits = {settings_.max_message_size}});
  blocked_at_open_ = std::move(line.blocked);
  created_ = std::move(line.created);
  certificate_expires_ = line.certificate_expires;
  heartbeat_ = line.tuned.heartbeat;
  last_read_ = last_write_ = clock::now();
  arm_heartbeat();
}

asio::awaitable<error> link::run(std::shared_ptr<link> self, handler* owner) {
  if (!self->session_ && !self->end_) self->end("run() without open()");
  self->owner_ = owner;
  if (!self->end_ && self->blocked_at_open_) owner->on_blocked(*self->blocked_at_open_);
  if (!self->end_) self->take_frames();  // frames that arrived with the end of the handshake
  while (!self->end_) {
    const auto room = self->parser_.prepare();
    const auto [ec, got] =
        co_await self->wire_->async_read_some(asio::buffer(room.data(), room.size()), as_result);
    if (self->end_) break;
    if (ec) {
      self->read_failed(ec);
      break;
    }
    self->last_read_ = clock::now();
    self->parser_.commit(got);
    self->take_frames();
  }
  self->owner_ = nullptr;
  co_return *self->end_;
}

void link::take_frames() {
  result<void> ok;
  std::string reply;
  while (ok && !news_.closed) {
    const auto next = parser_.next();
    if (!next) ok = tl::make_unexpected(next.error());
    if (!next || !*next) break;
    ok = session_->receive(**next, news_, reply);
  }
  const bool closed = news_.closed;
  if (news_.fault) interrupted_ = {ending::connection_closed, *news_.fault};
  if (!ok || closed) closing_ = true;  // nothing may be published any more
  deliver();
  if (end_) return;
  if (!ok) {
    // Sends the close-ok, unless a write is under way, whose bytes it would corrupt.
    if (!writing_ && !reply.empty()) wire_->try_write(reply);
    return end(ok.error().message);
  }
  if (closed) return end("closed on request");
  if (!reply.empty()) {
    pending_ += reply;
    flush_soon();
  }
  offer_room();
}

// Callbacks may only publish or abort.
void link::deliver() {
  if (!news_.outcomes.empty()) owner_->on_outcomes(news_.outcomes);
  if (!end_ && !news_.unknown.empty()) owner_->on_channel_closed(news_.unknown, news_.refused);
  if (!end_ && news_.secret_updated) owner_->on_secret_updated();
  for (const auto& reason : news_.blocked) {
    if (end_) break;
    if (reason)
      owner_->on_blocked(*reason);
    else
      owner_->on_unblocked();
  }
  news_.clear();
}

void link::read_failed(error_code ec) {
  if (ec == asio::error::operation_aborted) return end("cancelled");
  interrupted_ = {.how = ending::silent};
  // The kernel reports an error only once, to either the reader or the writer; the other sees only the end of
  // the stream.
  if (is_end_of_stream(ec) && write_error_) ec = write_error_;
  if (is_end_of_stream(ec)) return end("the broker hung up without a word");
  end(fmt::format("the connection broke: {}", ec.message()));
}

bool link::room_for(std::size_t bytes) const {
  if (end_ || closing_ || write_error_ || !session_ || !session_->open()) return false;
  if (session_->unconfirmed() >= settings_.max_unconfirmed) return false;
  return pending_.empty() || pending_.size() + bytes <= settings_.max_buffered;
}

result<accepted> link::publish(token id, const message& message) {
  const std::size_t bytes = message.body.size() + message.headers.size() + overhead_guess;
  if (!room_for(bytes)) {
    room_wanted_ = bytes;
    return accepted::full;
  }
  if (auto ok = session_->publish(id, message, pending_); !ok) return tl::make_unexpected(ok.error());
  flush_soon();
  return accepted::yes;
}

result<void> link::update_secret(std::string_view secret) {
  if (end_ || closing_ || !session_) return transient("the connection ends");
  OUTBOXD_TRY_VOID(session_->update_secret(secret, pending_));
  flush_soon();
  return {};
}

void link::offer_room() {
  if (room_wanted_ == 0 || owner_ == nullptr || !room_for(room_wanted_)) return;
  room_wanted_ = 0;
  owner_->on_writable();
}

void link::flush_soon() {
  if (writing_ || flush_posted_) return;
  flush_posted_ = true;
  asio::post(executor_, [self = shared_from_this()] {
    self->flush_posted_ = false;
    self->flush();
  });
}

void link::flush() {
  if (writing_ || pending_.empty() || write_error_ || end_) return;
  std::swap(pending_, sending_);
  writing_ = true;
  asio::async_write(*wire_, asio::buffer(sending_),
                    [self = shared_from_this()](error_code ec, std::size_t) { self->written(ec); });
}

void link::written(error_code ec) {
  writing_ = false;
  // Keeps the capacity for the usual load, but releases the memory of a huge message.
  if (sending_.capacity() > 2 * settings_.max_buffered) std::string().swap(sending_);
  sending_.clear();
  if (end_) return;
  if (ec) {
    write_error_ = ec;
    return;
  }
  failpoint("sent");
  last_write_ = clock::now();
  flush();
  offer_room();
}

// https://www.rabbitmq.com/docs/heartbeats: send after half an interval of silence, so that the broker misses
// none; two intervals without a byte end the connection.
void link::arm_heartbeat() {
  if (heartbeat_.count() == 0 || end_) return;
  heartbeat_timer_.expires_at(
      std::min(last_write_ + std::chrono::milliseconds(heartbeat_) / 2, last_read_ + 2 * heartbeat_));
  heartbeat_timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec) self->heartbeat_due();
  });
}

void link::heartbeat_due() {
  if (end_) return;
  const auto now = clock::now();
  if (now >= last_read_ + 2 * heartbeat_) {
    // If this process was suspended, the bytes have arrived but were not read.
    if (!wire_->has_unread())
      return end(fmt::format(
          "no byte from the broker for {} s, two heartbeat intervals: it hangs or the network is cut",
          2 * heartbeat_.count()));
    last_read_ = now;
  }
  if (now >= last_write_ + std::chrono::milliseconds(heartbeat_) / 2) {
    last_write_ = now;  // if a write is stuck, a heartbeat after it would not help
    if (!writing_ && pending_.empty()) {
      append_frame(pending_, frame_type::heartbeat, 0, {});
      flush();
    }
  }
  arm_heartbeat();
}

asio::awaitable<void> link::close(std::shared_ptr<link> self, std::chrono::milliseconds limit) {
  if (self->end_ || self->closing_ || !self->session_) {
    self->abort();
    co_return;
  }
  self->closing_ = true;
  self->session_->close(self->pending_);
  self->flush();
  if (self->owner_ == nullptr) {  // the answer would be lost, because run() is not active
    self->abort();
    co_return;
  }
  self->close_timer_.expires_after(limit);
  co_await self->close_timer_.async_wait(as_result);
  if (!self->end_) self->end(fmt::format("the broker did not confirm the close within {} ms", limit.count()));
}

void link::abort() {
  if (dialer_) dialer_->stop("stopped");
  end("stopped");
}

void link::end(std::string_view why) {
  if (end_) return;
  end_ = error{fault::transient, fmt::format("{}: {}", peer_, why)};
  heartbeat_timer_.cancel();
  close_timer_.cancel();
  if (wire_) wire_->close();
}

}  // namespace outboxd::amqp
