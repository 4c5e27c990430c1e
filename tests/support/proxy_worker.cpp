#include "support/proxy_worker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <system_error>

#include "support/loopback.hpp"

namespace outboxd::test {
namespace {

using clock = std::chrono::steady_clock;

constexpr int slices_per_turn = 256;

[[noreturn]] void fail(const char* what) {
  throw std::system_error{errno, std::generic_category(), what};
}

}  // namespace

proxy_worker::proxy_worker(std::uint16_t target_port) : target_{target_port} {
  listener_.replace(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  auto address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) fail("bind");
  if (::listen(listener_.get(), 128) != 0) fail("listen");
  ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  wake_.replace(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  thread_ = std::thread{[this] { run(); }};
}

proxy_worker::~proxy_worker() {
  call([this] { stopping_ = true; });
  thread_.join();
}

void proxy_worker::call(std::function<void()> command) {
  std::packaged_task<void()> task{std::move(command)};
  auto done = task.get_future();
  {
    const std::lock_guard lock{mutex_};
    commands_.push_back(std::move(task));
  }
  const std::uint64_t one = 1;
  if (::write(wake_.get(), &one, sizeof one) < 0) fail("eventfd");
  done.get();
}

void proxy_worker::run() {
  struct watched {
    proxied_connection* one;
    direction from;  // the side that is the source of this direction
  };
  while (!stopping_) {
    const auto now = clock::now();
    std::vector<pollfd> descriptors{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    std::vector<watched> who;
    for (auto& one : connections) {
      for (const auto which : both_ways) {
        const auto& source = one.source(which);
        if (!source.open()) continue;
        const auto back = which == direction::to_server ? direction::to_client : direction::to_server;
        short wanted = 0;
        const bool is_server = which == direction::to_client;
        if (one.connecting) {
          if (is_server) wanted = POLLOUT;
        } else {
          if (one.of(which).takes() && !one.silent) wanted |= POLLIN;
          if (one.of(back).gives(now)) wanted |= POLLOUT;
        }
        // One that is not to be read for now would report its end again and again; a hidden one may die
        // unseen.
        if (wanted == 0 && !one.silent && one.of(which).how.what != flow::kind::stall) continue;
        descriptors.push_back({source.get(), wanted, 0});
        who.push_back({&one, which});
      }
    }
    ::poll(descriptors.data(), descriptors.size(), timeout(now));
    for (std::size_t i = 0; i < who.size(); ++i) {
      const auto seen = descriptors[i + 2].revents;
      auto& one = *who[i].one;
      const auto which = who[i].from;
      const auto back = which == direction::to_server ? direction::to_client : direction::to_server;
      if (one.over || seen == 0 || one.source(which).get() != descriptors[i + 2].fd) continue;
      if (one.connecting && which == direction::to_client) {
        finish_connect(one);
        continue;
      }
      if ((seen & POLLIN) != 0) read(one, which);
      if (!one.over && (seen & POLLOUT) != 0) write(one, back);
      if (!one.over && (seen & POLLERR) != 0 && one.source(which).open()) side_died(one, which);
      if (!one.over && (seen & POLLHUP) != 0 && (seen & POLLIN) == 0 && one.source(which).open())
        side_died(one, which);
    }
    if (descriptors[1].revents != 0) accept_all();
    if (descriptors[0].revents != 0) run_commands();
    forget_over();
  }
}

// Until the first late piece is due.
int proxy_worker::timeout(clock::time_point now) const {
  auto next = std::chrono::milliseconds{1000};
  const auto consider = [&](const stream& one) {
    if (one.held.empty() || one.how.what == flow::kind::stall || one.held.front().due <= now) return;
    next = std::min(next, std::chrono::ceil<std::chrono::milliseconds>(one.held.front().due - now));
  };
  for (const auto& one : connections) {
    consider(one.to_server);
    consider(one.to_client);
  }
  return static_cast<int>(next.count());
}

void proxy_worker::run_commands() {
  std::uint64_t ignored = 0;
  if (::read(wake_.get(), &ignored, sizeof ignored) < 0) return;
  std::vector<std::packaged_task<void()>> commands;
  {
    const std::lock_guard lock{mutex_};
    commands.swap(commands_);
  }
  for (auto& one : commands) one();
}

void proxy_worker::accept_all() {
  for (;;) {
    const int descriptor = ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) return;
    ++count.accepted;
    auto& one = connections.emplace_back();
    one.client.replace(descriptor);
    one.to_server.how = flows[0];
    one.to_client.how = flows[1];
    switch (door) {
      case welcome::forward:
        connect(one);
        break;
      case welcome::refuse:
        ++count.refused;
        one.reset();
        break;
      case welcome::silence:
        ++count.silenced;
        one.silent = true;
        one.connecting = false;
        break;
    }
  }
}

void proxy_worker::connect(proxied_connection& one) {
  one.server.replace(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto address = loopback(target_);
  const int status = ::connect(one.server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (status != 0 && errno != EINPROGRESS) one.reset();
}

void proxy_worker::finish_connect(proxied_connection& one) {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(one.server.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  one.connecting = false;
  if (error != 0) one.reset();
}

void proxy_worker::read(proxied_connection& one, direction which) {
  std::array<char, 65536> chunk;
  auto& target = one.of(which);
  const auto size = ::recv(one.source(which).get(), chunk.data(), chunk.size(), 0);
  if (size < 0) {
    if (errno != EAGAIN && errno != EINTR) side_died(one, which);
    return;
  }
  if (size == 0) {
    target.ended = true;
    if (target.how.what == flow::kind::drop) target.lost_some = true;
    if (which == direction::to_client) ++count.closed_by_server;
    if (!target.cut_off() && target.held.empty()) write(one, which);
    return;
  }
  const auto length = static_cast<std::size_t>(size);
  if (target.how.what == flow::kind::drop) {
    count.dropped_bytes += length;
    target.lost_some = true;
    return;
  }
  auto due = clock::now();
  if (target.how.what == flow::kind::delay) {
    due += target.how.late;
    count.delayed_bytes += length;
  }
  target.buffered += length;
  target.held.push_back({std::string{chunk.data(), length}, due});
}

void proxy_worker::write(proxied_connection& one, direction which) {
  auto& source = one.of(which);
  auto& to = one.target(which);
  const auto now = clock::now();
  const bool sliced = source.how.what == flow::kind::slice;
  for (int turn = 0; to.open() && source.gives(now) && (!sliced || turn < slices_per_turn); ++turn) {
    auto& first = source.held.front();
    const auto size = ::send(to.get(), first.bytes.data(), sliced ? 1 : first.bytes.size(), MSG_NOSIGNAL);
    if (size < 0) {
      if (errno == EAGAIN || errno == EINTR) return;
      side_died(one, which == direction::to_server ? direction::to_client : direction::to_server);
      return;
    }
    const auto length = static_cast<std::size_t>(size);
    count.bytes += length;
    if (sliced) count.sliced_bytes += length;
    source.buffered -= length;
    if (length == first.bytes.size()) {
      source.held.pop_front();
    } else {
      first.bytes.erase(0, length);
    }
  }
  if (!source.ended || source.end_sent || !source.held.empty() || source.cut_off()) return;
  source.end_sent = true;
  if (to.open()) ::shutdown(to.get(), SHUT_WR);
  if (one.to_server.end_sent && one.to_client.end_sent) one.over = true;
}

/// `from_there`: the direction whose source is gone. The other side hears of it unless the network hides it.
void proxy_worker::side_died(proxied_connection& one, direction from_there) {
  one.source(from_there).close();
  if (from_there == direction::to_client && !one.silent) ++count.closed_by_server;
  const bool hidden = one.of(from_there).cut_off();
  if (!hidden || !one.target(from_there).open()) one.reset();
}

}  // namespace outboxd::test
