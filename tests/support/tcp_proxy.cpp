// tcp_proxy: one thread around poll(). Connections belong to the thread; commands are run by it.
#include "support/tcp_proxy.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <future>
#include <list>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace outboxd::test {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t most_buffered = 256 * 1024;
constexpr int slices_per_turn = 256;

[[noreturn]] void fail(const char* what) {
  throw std::system_error{errno, std::generic_category(), what};
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

/// A socket, or none.
class socket_handle {
 public:
  explicit socket_handle(int descriptor = -1) : descriptor_{descriptor} {}
  ~socket_handle() { close(); }
  socket_handle(const socket_handle&) = delete;
  socket_handle& operator=(const socket_handle&) = delete;

  int get() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }
  void close() {
    if (open()) ::close(std::exchange(descriptor_, -1));
  }
  void reset() {
    if (!open()) return;
    const linger at_once{1, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }
  void replace(int descriptor) {
    close();
    descriptor_ = descriptor;
    const int on = 1;
    ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

 private:
  int descriptor_;
};

struct piece {
  std::string bytes;
  clock::time_point due;
};

/// One direction of a connection: what was read from one socket and has not been written to the other.
struct stream {
  flow how;
  std::deque<piece> held;
  std::size_t buffered = 0;
  bool ended = false;      // the source has sent its FIN
  bool end_sent = false;   // and so have we
  bool lost_some = false;  // heal() cannot make it whole

  bool takes() const { return !ended && buffered < most_buffered && how.what != flow::kind::stall; }
  bool gives(clock::time_point now) const {
    return !held.empty() && held.front().due <= now && how.what != flow::kind::stall;
  }
  /// What happens at the source is hidden from the other side.
  bool cut_off() const { return how.what == flow::kind::stall || how.what == flow::kind::drop; }
};

struct connection {
  socket_handle client;
  socket_handle server;
  stream to_server;
  stream to_client;
  bool connecting = true;
  bool silent = false;
  bool over = false;

  stream& of(direction which) { return which == direction::to_server ? to_server : to_client; }
  socket_handle& source(direction which) { return which == direction::to_server ? client : server; }
  socket_handle& target(direction which) { return which == direction::to_server ? server : client; }
  void reset() {
    client.reset();
    server.reset();
    over = true;
  }
  bool broken() const {
    return silent || !client.open() || !server.open() || to_server.lost_some || to_client.lost_some;
  }
};

constexpr std::array both_ways{direction::to_server, direction::to_client};

}  // namespace

class tcp_proxy::worker {
 public:
  explicit worker(std::uint16_t target_port) : target_{target_port} {
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

  ~worker() {
    call([this] { stopping_ = true; });
    thread_.join();
  }
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  std::uint16_t port() const { return port_; }

  /// Runs `command` in the thread and waits for it.
  void call(std::function<void()> command) {
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

  // All below: in the thread only.
  std::list<connection> connections;
  std::array<flow, 2> flows;
  welcome door = welcome::forward;
  proxy_counters count;

  void forget_over() {
    connections.remove_if([](const connection& one) { return one.over; });
    count.open = connections.size();
  }

 private:
  void run();
  void run_commands();
  void accept_all();
  void connect(connection& one);
  void finish_connect(connection& one);
  void read(connection& one, direction which);
  void write(connection& one, direction which);
  void side_died(connection& one, direction from_there);
  int timeout(clock::time_point now) const;

  std::uint16_t target_;
  std::uint16_t port_ = 0;
  socket_handle listener_;
  socket_handle wake_;
  bool stopping_ = false;
  std::mutex mutex_;
  std::vector<std::packaged_task<void()>> commands_;  // guarded by mutex_
  std::thread thread_;
};

void tcp_proxy::worker::run() {
  struct watched {
    connection* one;
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
        // One that is not to be read for now would report its end again and again; a hidden one may die unseen.
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
int tcp_proxy::worker::timeout(clock::time_point now) const {
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

void tcp_proxy::worker::run_commands() {
  std::uint64_t ignored = 0;
  if (::read(wake_.get(), &ignored, sizeof ignored) < 0) return;
  std::vector<std::packaged_task<void()>> commands;
  {
    const std::lock_guard lock{mutex_};
    commands.swap(commands_);
  }
  for (auto& one : commands) one();
}

void tcp_proxy::worker::accept_all() {
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

void tcp_proxy::worker::connect(connection& one) {
  one.server.replace(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto address = loopback(target_);
  const int status = ::connect(one.server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (status != 0 && errno != EINPROGRESS) one.reset();
}

void tcp_proxy::worker::finish_connect(connection& one) {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(one.server.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  one.connecting = false;
  if (error != 0) one.reset();
}

void tcp_proxy::worker::read(connection& one, direction which) {
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

void tcp_proxy::worker::write(connection& one, direction which) {
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
void tcp_proxy::worker::side_died(connection& one, direction from_there) {
  one.source(from_there).close();
  if (from_there == direction::to_client && !one.silent) ++count.closed_by_server;
  const bool hidden = one.of(from_there).cut_off();
  if (!hidden || !one.target(from_there).open()) one.reset();
}

tcp_proxy::tcp_proxy(std::uint16_t target_port) : worker_{std::make_unique<worker>(target_port)} {}
tcp_proxy::~tcp_proxy() = default;

std::uint16_t tcp_proxy::port() const {
  return worker_->port();
}

void tcp_proxy::set(direction which, flow how, reach whom) {
  worker_->call([&] {
    if (whom != reach::present) worker_->flows[which == direction::to_server ? 0 : 1] = how;
    if (whom == reach::coming) return;
    for (auto& one : worker_->connections) one.of(which).how = how;
  });
}

void tcp_proxy::set(welcome how) {
  worker_->call([&] { worker_->door = how; });
}

void tcp_proxy::cut() {
  worker_->call([this] {
    for (auto& one : worker_->connections) {
      one.client.close();
      one.server.close();
      one.over = true;
      ++worker_->count.cut;
    }
    worker_->forget_over();
  });
}

void tcp_proxy::reset() {
  worker_->call([this] {
    for (auto& one : worker_->connections) {
      one.reset();
      ++worker_->count.reset;
    }
    worker_->forget_over();
  });
}

void tcp_proxy::abandon_server() {
  worker_->call([this] {
    for (auto& one : worker_->connections) {
      one.client.reset();
      one.to_client.how = {flow::kind::stall, {}};
      one.to_server.lost_some = true;
      ++worker_->count.abandoned;
    }
  });
}

void tcp_proxy::heal() {
  worker_->call([this] {
    worker_->flows = {};
    worker_->door = welcome::forward;
    for (auto& one : worker_->connections) {
      if (one.broken()) {
        one.reset();
      } else {
        one.to_server.how = {};
        one.to_client.how = {};
        // Pieces that were to be late go with the others; the order stays.
        for (auto* way : {&one.to_server, &one.to_client})
          for (auto& held : way->held) held.due = clock::time_point{};
      }
    }
    worker_->forget_over();
  });
}

proxy_counters tcp_proxy::counters() const {
  proxy_counters copy;
  worker_->call([&] {
    worker_->forget_over();
    // Bytes that lie unread in a socket are what a stall holds up.
    for (auto& one : worker_->connections) {
      for (const auto which : both_ways) {
        char first = 0;
        if (one.of(which).how.what != flow::kind::stall || !one.source(which).open()) continue;
        if (!one.of(which).held.empty() || ::recv(one.source(which).get(), &first, 1, MSG_PEEK) > 0)
          ++worker_->count.stalled_pieces;
      }
    }
    copy = worker_->count;
  });
  return copy;
}

}  // namespace outboxd::test
