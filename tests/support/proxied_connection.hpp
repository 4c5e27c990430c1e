// proxied_connection: two sockets and the bytes that are under way between them.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <utility>

#include "support/tcp_proxy.hpp"

namespace outboxd::test {

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
  std::chrono::steady_clock::time_point due;
};

/// One direction of a connection: what was read from one socket and has not been written to the other.
struct stream {
  static constexpr std::size_t most_buffered = 256 * 1024;

  flow how;
  std::deque<piece> held;
  std::size_t buffered = 0;
  bool ended = false;      // the source has sent its FIN
  bool end_sent = false;   // and so have we
  bool lost_some = false;  // heal() cannot make it whole

  bool takes() const { return !ended && buffered < most_buffered && how.what != flow::kind::stall; }
  bool gives(std::chrono::steady_clock::time_point now) const {
    return !held.empty() && held.front().due <= now && how.what != flow::kind::stall;
  }
  /// What happens at the source is hidden from the other side.
  bool cut_off() const { return how.what == flow::kind::stall || how.what == flow::kind::drop; }
};

struct proxied_connection {
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

inline constexpr std::array both_ways{direction::to_server, direction::to_client};

}  // namespace outboxd::test
