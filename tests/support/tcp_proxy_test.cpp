// The proxy in front of an echo server: each fault does what it says, to the direction it says, and leaves a
// count.
#include "support/tcp_proxy.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "support/eventually.hpp"
#include "support/loopback.hpp"

namespace outboxd::test::tcp_proxy_test {
namespace {

using namespace std::chrono_literals;
const auto time_limit = patience;

// One thread per connection, which sends back what it gets and counts it.
class echo_server {
 public:
  echo_server() : listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    auto address = loopback(0);
    socklen_t size = sizeof address;
    REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listener_, 16) == 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this] { accept_all(); }};
  }
  ~echo_server() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    for (auto& one : sessions_) one.join();
  }
  echo_server(const echo_server&) = delete;
  echo_server& operator=(const echo_server&) = delete;

  std::uint16_t port() const { return port_; }
  int ended() const { return ended_; }
  std::size_t got() const { return got_; }

 private:
  void accept_all() {
    for (;;) {
      const int one = ::accept(listener_, nullptr, nullptr);
      if (one < 0) return;
      sessions_.emplace_back([this, one] { echo(one); });
    }
  }
  void echo(int socket) {
    std::array<char, 4096> bytes{};
    for (;;) {
      const auto size = ::recv(socket, bytes.data(), bytes.size(), 0);
      if (size <= 0) break;
      got_ += static_cast<std::size_t>(size);
      if (::send(socket, bytes.data(), static_cast<std::size_t>(size), MSG_NOSIGNAL) < 0) break;
    }
    ::close(socket);
    ++ended_;
  }

  int listener_;
  std::uint16_t port_ = 0;
  std::atomic<int> ended_ = 0;
  std::atomic<std::size_t> got_ = 0;
  std::vector<std::thread> sessions_;
  std::thread thread_;
};

class client {
 public:
  explicit client(std::uint16_t port) : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    const auto address = loopback(port);
    const int done = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    REQUIRE((done == 0 || errno == ECONNRESET));  // it may have been reset already
  }
  ~client() { ::close(socket_); }
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  void send(const std::string& text) const { ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }
  // Exactly as many bytes, or what came before the end; `error()` then says how it ended.
  std::string read(std::size_t count) {
    std::string text;
    while (text.size() < count) {
      std::array<char, 4096> bytes{};
      if (!readable(time_limit)) break;
      const auto size = ::recv(socket_, bytes.data(), std::min(bytes.size(), count - text.size()), 0);
      error_ = size < 0 ? errno : 0;
      if (size <= 0) break;
      text.append(bytes.data(), static_cast<std::size_t>(size));
    }
    return text;
  }
  bool readable(std::chrono::milliseconds limit) const {
    pollfd one{socket_, POLLIN, 0};
    return ::poll(&one, 1, static_cast<int>(limit.count())) == 1;
  }
  int error() const { return error_; }
  std::string echo(const std::string& text) {
    send(text);
    return read(text.size());
  }

 private:
  int socket_;
  int error_ = 0;
};

}  // namespace

TEST_CASE("the proxy forwards both ways, much and little, and the end of a connection") {
  echo_server server;
  tcp_proxy proxy{server.port()};
  {
    client one{proxy.port()};
    CHECK(one.echo("hello") == "hello");
    const std::string large(3'000'000, 'x');
    std::thread sender{[&] { one.send(large); }};
    CHECK(one.read(large.size()) == large);
    sender.join();
    CHECK(proxy.counters().open == 1);
  }
  eventually("the server sees the end", [&] { return server.ended() == 1; });
  eventually("the proxy has forgotten it", [&] { return proxy.counters().open == 0; });
  CHECK(proxy.counters().accepted == 1);
  CHECK(proxy.counters().bytes == 6'000'010);
}

TEST_CASE("a cut ends a connection on both sides and the next one works") {
  echo_server server;
  tcp_proxy proxy{server.port()};
  client one{proxy.port()};
  CHECK(one.echo("hello") == "hello");
  proxy.cut();
  CHECK(one.read(1).empty());
  CHECK(one.error() == 0);
  eventually("the server sees the end", [&] { return server.ended() == 1; });
  CHECK(proxy.counters().cut == 1);
  client two{proxy.port()};
  CHECK(two.echo("again") == "again");
}

TEST_CASE("a reset is a reset") {
  echo_server server;
  tcp_proxy proxy{server.port()};
  client one{proxy.port()};
  CHECK(one.echo("hello") == "hello");
  proxy.reset();
  CHECK(one.read(1).empty());
  CHECK(one.error() == ECONNRESET);
  eventually("the server sees the end", [&] { return server.ended() == 1; });
  CHECK(proxy.counters().reset == 1);
}

TEST_CASE("a stalled direction holds its bytes and gives them when healed") {
  echo_server server;
  tcp_proxy proxy{server.port()};
  client one{proxy.port()};
  CHECK(one.echo("hello") == "hello");
  SUBCASE("to the server") {
    proxy.set(direction::to_server, {flow::kind::stall, {}});
    one.send("later");
    eventually("bytes are held up", [&] { return proxy.counters().stalled_pieces > 0; });
    CHECK(server.got() == 5);
  }
  SUBCASE("to the client") {
    proxy.set(direction::to_client, {flow::kind::stall, {}});
    one.send("later");
    eventually("the server got them", [&] { return server.got() == 10; });
    CHECK_FALSE(one.readable(50ms));
  }
  proxy.heal();
  CHECK(one.read(5) == "later");
}

TEST_CASE("while a direction is stalled the other side does not learn of the end") {
  echo_server server;
  tcp_proxy proxy{server.port()};
  {
    client one{proxy.port()};
    CHECK(one.echo("hello") == "hello");
    proxy.set(direction::to_server, {flow::kind::stall, {}});
  }
  client other{proxy.port()};  // the proxy has been through its loop
  CHECK(proxy.counters().open == 2);
  CHECK(server.ended() == 0);
  proxy.heal();
  eventually("the server sees the end", [&] { return server.ended() == 1; });
}

TEST_CASE("dropped bytes are gone and the connection is reset when healed") {
  echo_server server;
  tcp_proxy proxy{server.port()};
  client one{proxy.port()};
  CHECK(one.echo("hello") == "hello");
  proxy.set(direction::to_server, {flow::kind::drop, {}});
  one.send("gone");
  eventually("bytes are dropped", [&] { return proxy.counters().dropped_bytes == 4; });
  proxy.heal();
  CHECK(one.read(1).empty());
  CHECK(one.error() == ECONNRESET);
  CHECK(server.got() == 5);
  client two{proxy.port()};
  CHECK(two.echo("again") == "again");
}

TEST_CASE("delayed bytes come late and in order") {
  echo_server server;
  tcp_proxy proxy{server.port()};
  proxy.set(direction::to_client, {flow::kind::delay, 150ms});
  client one{proxy.port()};
  const auto begin = std::chrono::steady_clock::now();
  one.send("one");
  one.send("two");
  CHECK(one.read(6) == "onetwo");
  CHECK(std::chrono::steady_clock::now() - begin >= 150ms);
  CHECK(proxy.counters().delayed_bytes == 6);
}

TEST_CASE("slices arrive whole") {
  echo_server server;
  tcp_proxy proxy{server.port()};
  proxy.set(direction::to_server, {flow::kind::slice, {}});
  proxy.set(direction::to_client, {flow::kind::slice, {}});
  client one{proxy.port()};
  std::string text;
  for (int i = 0; i < 2000; ++i) text += static_cast<char>('a' + i % 26);
  CHECK(one.echo(text) == text);
  CHECK(proxy.counters().sliced_bytes == 4000);
}

TEST_CASE("present connections and those to come can be told apart") {
  echo_server server;
  tcp_proxy proxy{server.port()};
  client present{proxy.port()};
  CHECK(present.echo("hello") == "hello");
  proxy.set(direction::to_server, {flow::kind::drop, {}}, reach::coming);
  client coming{proxy.port()};
  coming.send("gone");
  eventually("bytes are dropped", [&] { return proxy.counters().dropped_bytes == 4; });
  CHECK(present.echo("again") == "again");
  proxy.heal();
  proxy.set(direction::to_server, {flow::kind::drop, {}}, reach::present);
  client healthy{proxy.port()};
  CHECK(healthy.echo("hello") == "hello");
}

TEST_CASE("a refused connection is reset and a silent one never hears a byte") {
  echo_server server;
  tcp_proxy proxy{server.port()};
  proxy.set(welcome::refuse);
  client refused{proxy.port()};
  CHECK(refused.read(1).empty());
  CHECK(proxy.counters().refused == 1);
  proxy.set(welcome::silence);
  client silent{proxy.port()};
  silent.send("anybody?");
  CHECK_FALSE(silent.readable(50ms));
  CHECK(proxy.counters().silenced == 1);
  proxy.heal();
  CHECK(silent.read(1).empty());
  client healthy{proxy.port()};
  CHECK(healthy.echo("hello") == "hello");
}

TEST_CASE("an abandoned server keeps its connection until healed") {
  echo_server server;
  tcp_proxy proxy{server.port()};
  client one{proxy.port()};
  CHECK(one.echo("hello") == "hello");
  proxy.abandon_server();
  CHECK(one.read(1).empty());
  CHECK(one.error() == ECONNRESET);
  client two{proxy.port()};
  CHECK(two.echo("again") == "again");
  CHECK(server.ended() == 0);
  CHECK(proxy.counters().abandoned == 1);
  proxy.heal();
  eventually("the server sees the end", [&] { return server.ended() == 1; });
}

TEST_CASE("a server that does not listen makes the proxy reset the client") {
  tcp_proxy proxy{1};
  client one{proxy.port()};
  CHECK(one.read(1).empty());
}

}  // namespace outboxd::test::tcp_proxy_test
