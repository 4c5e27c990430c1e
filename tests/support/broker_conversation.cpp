// broker_conversation: blocking sockets.
#include "support/broker_conversation.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace outboxd::test {

std::string answer_of(shake_step step, const shake_options& options) {
  switch (step) {
    case shake_step::greeting:
      return wire::start();
    case shake_step::tune:
      return wire::tune(2047, options.frame_max, options.heartbeat);
    case shake_step::open:
      return wire::open_ok();
    case shake_step::channel:
      return wire::channel_open_ok();
    case shake_step::confirm:
      return wire::select_ok();
    case shake_step::look:
    case shake_step::declare:
      return wire::declare_ok();
    case shake_step::done:
      break;
  }
  return {};
}

broker_conversation::broker_conversation(int socket, ack_listener on_ack)
    : socket_{socket}, on_ack_{std::move(on_ack)} {
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

broker_conversation::~broker_conversation() {
  close();
}

void broker_conversation::close() {
  const std::lock_guard lock{mutex_};
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void broker_conversation::interrupt() {
  const std::lock_guard lock{mutex_};
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

void broker_conversation::cut_after(std::size_t bytes, bool reset) {
  allowance_ = bytes;
  reset_ = reset;
}

void broker_conversation::send(std::string_view bytes) {
  while (!bytes.empty()) {
    if (allowance_ == 0) hang_up(reset_);
    const auto most = std::min({bytes.size(), piece_, allowance_.value_or(SIZE_MAX)});
    const auto sent = ::send(socket_, bytes.data(), most, MSG_NOSIGNAL);
    if (sent <= 0) throw hung_up{};
    bytes.remove_prefix(static_cast<std::size_t>(sent));
    if (allowance_) *allowance_ -= static_cast<std::size_t>(sent);
  }
}

std::string broker_conversation::read_bytes(std::size_t count) {
  std::string out(count, '\0');
  for (std::size_t at = 0; at < count;) {
    const auto got = ::recv(socket_, out.data() + at, count - at, 0);
    if (got <= 0) throw hung_up{};
    at += static_cast<std::size_t>(got);
  }
  return out;
}

wire::seen broker_conversation::read() {
  for (;;) {
    const auto head = read_bytes(7);
    wire::reader in{head};
    const auto type = static_cast<int>(in.number(1));
    const auto channel = static_cast<int>(in.number(2));
    auto payload = read_bytes(in.number(4));
    if (read_bytes(1) != "\xCE") throw std::runtime_error{"the client's frame has no end"};
    if (type != 8) return {type, channel, std::move(payload)};
  }
}

std::string broker_conversation::await_heartbeat() {
  return read_bytes(wire::heartbeat().size());
}

void broker_conversation::read_request(shake_step of) {
  const auto expect = [this](const std::string& name) {
    if (const auto got = read().name(); got != name)
      throw std::runtime_error{"the client sent " + got + " instead of " + name};
  };
  switch (of) {
    case shake_step::greeting:
      if (read_bytes(8) != std::string_view("AMQP\0\0\x09\x01", 8))
        throw std::runtime_error{"the client's protocol header is wrong"};
      return;
    case shake_step::tune:
      return expect("10.11");
    case shake_step::open:
      expect("10.31");
      return expect("10.40");
    case shake_step::channel:
      return expect("20.10");
    case shake_step::confirm:
      return expect("85.10");
    case shake_step::look:
    case shake_step::declare:
      return expect("40.10");
    case shake_step::done:
      return;
  }
}

void broker_conversation::shake_hands(shake_step until, const shake_options& options) {
  for (auto step = shake_step::greeting;; step = static_cast<shake_step>(static_cast<int>(step) + 1)) {
    read_request(step);
    if (step == until) return;
    send(answer_of(step, options));
  }
}

std::string broker_conversation::next_publish() {
  const auto method = read();
  if (method.name() == "10.50") {
    send(wire::method(0, 10, 51));
    throw hung_up{};
  }
  if (method.name() == "10.51") throw hung_up{};
  if (method.name() != "60.40") throw std::runtime_error{"the client sent " + method.name() + ", no publish"};
  const auto header = read();
  wire::reader in{header.payload};
  in.take(4);
  auto left = in.number(8);
  in.take(2);  // the flags are always the same
  in.short_string();
  in.long_string();
  in.take(1);
  publishes_.push_back(in.short_string());
  while (left > 0) left -= read().payload.size();
  return publishes_.back();
}

void broker_conversation::ack(std::uint64_t tag, bool multiple) {
  const auto last = tag == 0 ? publishes_.size() : tag;
  for (auto one = multiple ? settled_ + 1 : last; one <= last && one >= 1 && one <= publishes_.size(); ++one)
    on_ack_(publishes_[one - 1]);
  if (multiple) settled_ = std::max(settled_, last);
  send(wire::ack(tag, multiple));
}

void broker_conversation::serve() {
  for (;;) {
    next_publish();
    ack(publishes_.size());
  }
}

// Calls `each` with what poll() says, about twenty times a second at least, until the other side is gone.
void broker_conversation::await_end(short also, const std::function<void(short)>& each) {
  for (;;) {
    pollfd ready{socket_, static_cast<short>(also | POLLRDHUP), 0};
    ::poll(&ready, 1, 50);
    if ((ready.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0) throw hung_up{};
    each(ready.revents);
  }
}

void broker_conversation::only_heartbeats() {
  await_end(POLLIN, [this](short ready) {
    std::array<char, 65536> dropped;
    if ((ready & POLLIN) == 0)
      send(wire::heartbeat());
    else if (::recv(socket_, dropped.data(), dropped.size(), 0) <= 0)
      throw hung_up{};
  });
  throw hung_up{};
}

void broker_conversation::stop_reading() {
  await_end(0, [](short) {});
  throw hung_up{};
}

void broker_conversation::hang_up(bool reset) {
  if (reset) {
    const linger now{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    throw hung_up{};  // close() follows, and sends the RST
  }
  ::shutdown(socket_, SHUT_WR);
  // A close with unread bytes would be a RST.
  std::array<char, 4096> dropped;
  while (::recv(socket_, dropped.data(), dropped.size(), 0) > 0) {
  }
  throw hung_up{};
}

}  // namespace outboxd::test
