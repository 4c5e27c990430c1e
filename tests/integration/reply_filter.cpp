// reply_filter: one thread for each connection; the server's messages are read one by one.
#include "reply_filter.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "support/loopback.hpp"

namespace outboxd::test {
namespace {

using namespace std::string_view_literals;

constexpr int tick_ms = 50;  // how soon a thread sees that it has to end

bool send_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool receive(int from, std::string& into) {
  std::array<char, 65536> part{};
  const auto got = ::recv(from, part.data(), part.size(), 0);
  if (got > 0) into.append(part.data(), static_cast<std::size_t>(got));
  return got > 0;
}

// Takes the whole messages from the front of the server's bytes (manual, "Message Formats"): a type, and a
// length that counts itself. Without those of NotificationResponse if they are to be swallowed.
std::string take_messages(std::string& bytes, bool swallow) {
  std::string out;
  for (;;) {
    if (bytes.size() < 5) return out;
    std::size_t length = 1;
    for (std::size_t i = 1, value = 0; i < 5; ++i) {
      value = value * 256 + static_cast<unsigned char>(bytes[i]);
      if (i == 4) length += value;
    }
    if (bytes.size() < length) return out;
    if (!swallow || bytes[0] != 'A') out += bytes.substr(0, length);
    bytes.erase(0, length);
  }
}

/// 1,000 of the process 4711: NotificationResponse.
std::string many_notifications() {
  std::string out;
  for (int i = 0; i < 1'000; ++i) out += "A\0\0\0\x14\0\0\x12\x67outbox\0word\0"sv;
  return out;
}

}  // namespace

reply_filter::reply_filter() : listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
  auto address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 50) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error{"cannot listen on the loopback"};
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread{[this] { accept(); }};
}

reply_filter::~reply_filter() {
  stopping_ = true;
  acceptor_.join();
  for (auto& one : links_) one.join();
  ::close(listener_);
}

// Without encryption, and so without the answers to requests for it, which are no messages.
std::string reply_filter::url(const stage& on) const {
  const auto& direct = on.database_url();
  return fmt::format("{}@127.0.0.1:{}/{}?sslmode=disable&gssencmode=disable",
                     direct.substr(0, direct.find('@')), port_, on.database_name());
}

void reply_filter::accept() {
  pollfd ready{listener_, POLLIN, 0};
  while (!stopping_) {
    if (::poll(&ready, 1, tick_ms) <= 0) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) links_.emplace_back([this, client] { carry(client); });
  }
}

std::string reply_filter::replaced(std::string messages) const {
  const auto& [answer, by] = replaced_;
  if (answer.empty()) return messages;
  for (auto at = messages.find(answer); at != std::string::npos; at = messages.find(answer, at + by.size()))
    messages.replace(at, answer.size(), by);
  return messages;
}

void reply_filter::carry(int client) {
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address =
      loopback(static_cast<std::uint16_t>(std::stoi(required_environment("OUTBOXD_TEST_PGPORT"))));
  bool open = ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  std::array<pollfd, 2> ends{{{client, POLLIN, 0}, {server, POLLIN, 0}}};
  std::string up;
  std::string down;
  bool listens = false;
  while (open && !stopping_) {
    if (listens && drowning_) {
      open = send_all(client, many_notifications());
      continue;
    }
    if (::poll(ends.data(), ends.size(), tick_ms) <= 0) continue;
    if (ends[0].revents != 0) {
      open = receive(client, up);
      listens = listens || up.find("\0LISTEN "sv) != std::string::npos;
      open = open && send_all(server, std::exchange(up, {}));
    }
    if (open && ends[1].revents != 0)
      open = receive(server, down) && send_all(client, replaced(take_messages(down, swallowing_)));
  }
  ::close(client);
  ::close(server);
}

}  // namespace outboxd::test
