// http_client: a connection to an HTTP server on which a test says what it likes, byte by byte.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "support/deadline.hpp"
#include "support/loopback.hpp"

namespace outboxd::test {

struct http_answer {
  int status = 0;
  std::string header;  // as it came, the status line included
  std::string body;

  bool has(std::string_view words) const { return header.find(words) != std::string::npos; }
};

class http_client {
 public:
  explicit http_client(std::uint16_t port) : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    const auto to = loopback(port);
    connect(reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
  explicit http_client(const std::string& path) : socket_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::strncpy(to.sun_path, path.c_str(), sizeof to.sun_path - 1);
    connect(reinterpret_cast<const sockaddr*>(&to), sizeof to);
  }
  ~http_client() {
    if (socket_ >= 0) ::close(socket_);
  }
  http_client(http_client&& other) noexcept
      : socket_{std::exchange(other.socket_, -1)}, heard_{std::move(other.heard_)} {}
  http_client& operator=(http_client&&) = delete;

  /// False: the server has closed the connection.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const auto sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// Up to the end of the connection; throws when that does not come.
  std::string read_all() {
    while (read_some()) {
    }
    return std::exchange(heard_, {});
  }

  /// One response; throws when it does not come whole.
  http_answer read_answer(bool without_body = false) {
    http_answer out;
    const auto header_end = [this] { return heard_.find("\r\n\r\n"); };
    while (header_end() == std::string::npos) must_read();
    out.header = heard_.substr(0, header_end() + 4);
    heard_.erase(0, out.header.size());
    out.status = std::stoi(out.header.substr(out.header.find(' ')));
    constexpr std::string_view length = "Content-Length: ";
    const auto at = out.header.find(length);
    const auto bytes =
        at == std::string::npos || without_body ? 0 : std::stoul(out.header.substr(at + length.size()));
    while (heard_.size() < bytes) must_read();
    out.body = heard_.substr(0, bytes);
    heard_.erase(0, bytes);
    return out;
  }

  http_answer get(std::string_view path) {
    send("GET " + std::string(path) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    return read_answer();
  }

 private:
  void connect(const sockaddr* to, socklen_t size) const {
    if (::connect(socket_, to, size) != 0)
      throw std::runtime_error{std::string("cannot connect: ") + std::strerror(errno)};
  }
  // False: the connection has ended.
  bool read_some() {
    pollfd readable{socket_, POLLIN, 0};
    if (::poll(&readable, 1, static_cast<int>(patience.count())) <= 0)
      throw std::runtime_error{"the HTTP server is silent"};
    std::array<char, 65536> bytes{};
    const auto got = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (got <= 0) return false;
    heard_.append(bytes.data(), static_cast<std::size_t>(got));
    return true;
  }
  void must_read() {
    if (!read_some()) throw std::runtime_error{"the HTTP server has closed the connection after: " + heard_};
  }

  int socket_;
  std::string heard_;
};

}  // namespace outboxd::test
