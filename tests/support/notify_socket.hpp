// notify_socket: a service manager's end of sd_notify: a socket whose datagrams are kept and waited for.
#pragma once

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "support/deadline.hpp"

namespace outboxd::test {

class notify_socket {
 public:
  enum class kind { path, abstract };

  explicit notify_socket(kind of = kind::path) {
    static int counter = 0;
    const auto name = fmt::format("outboxd-notify-{}-{}", ::getpid(), ++counter);
    if (of == kind::path) file_ = std::filesystem::temp_directory_path() / name;
    address_ = of == kind::path ? file_.string() : "@" + name;
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, address_.data(), std::min(address_.size(), sizeof to.sun_path - 1));
    auto size = offsetof(sockaddr_un, sun_path) + address_.size();
    if (of == kind::abstract)
      to.sun_path[0] = '\0';
    else
      ++size;
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_ < 0 || ::bind(socket_, reinterpret_cast<sockaddr*>(&to), static_cast<socklen_t>(size)) != 0)
      throw std::runtime_error("cannot bind " + address_);
  }
  ~notify_socket() {
    ::close(socket_);
    if (!file_.empty()) std::filesystem::remove(file_);
  }
  notify_socket(const notify_socket&) = delete;
  notify_socket& operator=(const notify_socket&) = delete;

  /// The value of NOTIFY_SOCKET.
  const std::string& address() const { return address_; }

  /// Every line so far, of all datagrams.
  const std::vector<std::string>& lines() {
    while (receive(std::chrono::milliseconds{0})) {
    }
    return lines_;
  }
  bool has(const std::string& line) {
    const auto& all = lines();
    return std::find(all.begin(), all.end(), line) != all.end();
  }

  /// Waits for a line that begins so, and returns its position; `from`: skip the first lines.
  std::size_t wait_line(const std::string& begin, std::size_t from = 0,
                        std::chrono::milliseconds limit = patience) {
    const auto deadline = steady_clock::now() + limit;
    for (std::size_t at = from;;) {
      for (; at < lines_.size(); ++at)
        if (lines_[at].starts_with(begin)) return at;
      if (!receive(time_left(deadline))) throw deadline_passed{"nobody said " + begin};
    }
  }

 private:
  // One datagram; false: none came.
  bool receive(std::chrono::milliseconds limit) {
    pollfd in{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&in, 1, static_cast<int>(limit.count())) != 1) return false;
    std::array<char, 4096> datagram{};
    const auto size = ::recv(socket_, datagram.data(), datagram.size(), 0);
    if (size < 0) return false;
    std::istringstream words(std::string(datagram.data(), static_cast<std::size_t>(size)));
    for (std::string line; std::getline(words, line);) lines_.push_back(line);
    return true;
  }

  std::filesystem::path file_;
  std::string address_;
  int socket_ = -1;
  std::vector<std::string> lines_;
};

}  // namespace outboxd::test
