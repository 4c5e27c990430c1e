#include "support/fake_collector.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <string_view>

#include "support/loopback.hpp"

namespace outboxd::test {
namespace {

// Looks up now and then whether the test is over.
constexpr int glance_ms = 20;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string answer(std::string_view status, std::string_view body) {
  return "HTTP/1.1 " + std::string(status) +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + std::string(body);
}

bool send_all(int to, std::string_view text) {
  while (!text.empty()) {
    const auto sent = ::send(to, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

fake_collector::fake_collector(way how)
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), how_(how) {
  auto at = loopback(0);
  socklen_t size = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  if (::bind(listener_, address, size) != 0 || ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, address, &size) != 0)
    throw std::runtime_error("the collector cannot listen");
  port_ = ntohs(at.sin_port);
  thread_ = std::thread([this] { serve(); });
}

fake_collector::~fake_collector() {
  stops_ = true;
  thread_.join();
  ::close(listener_);
}

std::string fake_collector::url() const {
  return "http://127.0.0.1:" + std::to_string(port_);
}

std::vector<nlohmann::json> fake_collector::taken() const {
  const std::lock_guard held(mutex_);
  std::vector<nlohmann::json> out;
  for (const auto& one : taken_) out.push_back(nlohmann::json::parse(one));
  return out;
}

std::vector<nlohmann::json> fake_collector::spans() const {
  std::vector<nlohmann::json> out;
  for (const auto& request : taken())
    for (const auto& resource : request.at("resourceSpans"))
      for (const auto& scope : resource.at("scopeSpans"))
        for (const auto& one : scope.at("spans")) out.push_back(one);
  return out;
}

std::vector<std::string> fake_collector::complaints() const {
  const std::lock_guard held(mutex_);
  return complaints_;
}

void fake_collector::serve() {
  while (!stops_) {
    pollfd comes{listener_, POLLIN, 0};
    if (::poll(&comes, 1, glance_ms) <= 0) continue;
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    converse(client);
    ::close(client);
  }
}

void fake_collector::converse(int with) {
  std::string heard;
  // False: the client has closed, or the test is over.
  const auto read_some = [&] {
    while (!stops_) {
      pollfd readable{with, POLLIN, 0};
      if (::poll(&readable, 1, glance_ms) <= 0) continue;
      std::array<char, 65536> bytes{};
      const auto got = ::recv(with, bytes.data(), bytes.size(), 0);
      if (got > 0) heard.append(bytes.data(), static_cast<std::size_t>(got));
      return got > 0;
    }
    return false;
  };
  while (heard.find("\r\n\r\n") == std::string::npos)
    if (!read_some()) return;
  const auto header = lower(heard.substr(0, heard.find("\r\n\r\n") + 2));
  heard.erase(0, header.size() + 2);
  const std::string length = "\r\ncontent-length: ";
  const auto at = header.find(length);
  if (!header.starts_with("post /v1/traces http/1.1\r\n") || at == std::string::npos ||
      header.find("\r\ncontent-type: application/json\r\n") == std::string::npos) {
    const std::lock_guard held(mutex_);
    complaints_.push_back(header);
    return;
  }
  const auto bytes = std::stoul(header.substr(at + length.size()));
  while (heard.size() < bytes)
    if (!read_some()) return;
  ++requests_;
  const auto take = [&] {
    const std::lock_guard held(mutex_);
    taken_.push_back(heard);
  };
  switch (how_) {
    case way::takes:
      take();
      send_all(with, answer("200 OK", R"({"partialSuccess":{}})"));
      return;
    case way::takes_part:
      take();
      send_all(with,
               answer("200 OK", R"({"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}})"));
      return;
    case way::answers_500:
      send_all(with, answer("500 Internal Server Error", R"({"code":13,"message":"out of order"})"));
      return;
    case way::answers_503:
      send_all(with, answer("503 Service Unavailable", "{}"));
      return;
    case way::hangs_up:
      return;
    case way::stays_silent:
      while (read_some()) continue;
      return;
    case way::answers_for_ever:
      if (!send_all(with, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"a\":\"")) return;
      while (!stops_ && send_all(with, std::string(1024, 'x'))) continue;
      return;
    case way::talks_nonsense:
      send_all(with, "220 mail.example ESMTP\r\n");
      return;
  }
}

}  // namespace outboxd::test
