// canned_server: an HTTP server on a loopback port that gives raw bytes for an answer, or none at all.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/loopback.hpp"

namespace outboxd::test {

class canned_server {
 public:
  // Header of the request, all of it → all bytes of the answer; nothing: the client waits in vain.
  using script = std::function<std::optional<std::string>(const std::string& asked)>;

  explicit canned_server(script answers)
      : answers_(std::move(answers)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto where = loopback(0);
    socklen_t size = sizeof where;
    ::bind(listener_, reinterpret_cast<const sockaddr*>(&where), size);
    ::listen(listener_, 16);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&where), &size);
    port_ = ntohs(where.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~canned_server() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (const int one : kept_) ::close(one);
    ::close(listener_);
  }
  canned_server(const canned_server&) = delete;
  canned_server& operator=(const canned_server&) = delete;

  std::uint16_t port() const { return port_; }
  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  void serve() {
    for (int client = 0; (client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      const auto request = header_from(client);
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(request);
      }
      const auto answer = answers_(request);
      if (!answer) {
        kept_.push_back(client);
        continue;
      }
      send_all(client, *answer);
      ::close(client);
    }
  }
  static std::string header_from(int client) {
    std::string out;
    std::array<char, 4096> bytes{};
    while (out.find("\r\n\r\n") == std::string::npos) {
      const auto got = ::recv(client, bytes.data(), bytes.size(), 0);
      if (got <= 0) break;
      out.append(bytes.data(), static_cast<std::size_t>(got));
    }
    return out;
  }
  static void send_all(int client, std::string_view text) {
    while (!text.empty()) {
      const auto sent = ::send(client, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  script answers_;
  int listener_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;  // guarded by mutex_
  std::vector<int> kept_;
  std::thread thread_;
};

inline std::string http_text(int status, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

}  // namespace outboxd::test
