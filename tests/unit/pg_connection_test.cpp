// pg_connection_test: what a connection does at its limits, against a server that says just enough of the
// protocol.
#include <doctest/doctest.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <future>
#include <optional>
#include <thread>

#include "pg/connection.hpp"

namespace pg_connection_test {

using namespace outboxd;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// AuthenticationOk and ReadyForQuery (manual, "Message Formats").
constexpr std::string_view welcome("R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", 15);

// Reads the start-up message: its length, then the rest.
void read_startup(tcp::socket& from) {
  std::array<unsigned char, 4> length{};
  asio::read(from, asio::buffer(length));
  std::string rest(static_cast<std::size_t>(length[2] * 256 + length[3] - 4), '\0');
  asio::read(from, asio::buffer(rest));
}

}  // namespace

TEST_CASE("a connection that succeeds in the same turn as its deadline passes still hears the server") {
  asio::io_context server_io;
  tcp::acceptor acceptor(server_io, {asio::ip::address_v4::loopback(), 0});
  const auto target = "host=127.0.0.1 user=u dbname=d sslmode=disable gssencmode=disable port=" +
                      std::to_string(acceptor.local_endpoint().port());
  constexpr auto within =
      2s;  // far more than the start takes on a busy machine, for the test has to wait it out

  asio::io_context io;
  pg::connection client(io.get_executor());
  std::optional<result<void>> opened;
  bool ended = false;
  const auto begin = std::chrono::steady_clock::now();
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        opened = co_await client.open(target, within);
        if (*opened) co_await client.wait_until(std::chrono::steady_clock::now() + 5s);
        ended = client.lost().has_value();
      },
      [](std::exception_ptr thrown) {
        if (thrown) std::rethrow_exception(thrown);
      });

  auto startup = std::async(std::launch::async, [&] {
    tcp::socket peer = acceptor.accept();
    read_startup(peer);
    return peer;
  });
  while (startup.wait_for(0ms) != std::future_status::ready) io.run_one_for(10ms);
  tcp::socket peer = startup.get();
  asio::write(peer, asio::buffer(welcome));
  // The reactor is not run until both have happened: the answer is there and the deadline has passed.
  std::this_thread::sleep_until(begin + within + 50ms);
  while (!opened && io.run_one_for(1s) > 0) {
  }
  REQUIRE(opened.has_value());
  REQUIRE_MESSAGE(opened->has_value(), opened->error().message);
  peer.close();
  io.run_for(10s);
  CHECK(ended);
}

TEST_CASE("a host that never answers leaves time for the next one in the list") {
  asio::io_context server_io;
  tcp::acceptor silent(server_io, {asio::ip::address_v4::loopback(), 0});
  tcp::acceptor speaking(server_io, {asio::ip::address_v4::loopback(), 0});
  const auto target =
      "host=127.0.0.1,127.0.0.1 user=u dbname=d sslmode=disable gssencmode=disable"
      " target_session_attrs=any port=" +
      std::to_string(silent.local_endpoint().port()) + "," + std::to_string(speaking.local_endpoint().port());

  asio::io_context io;
  pg::connection client(io.get_executor());
  std::optional<result<void>> opened;
  asio::co_spawn(
      io, [&]() -> asio::awaitable<void> { opened = co_await client.open(target, 6s); },
      [](std::exception_ptr thrown) {
        if (thrown) std::rethrow_exception(thrown);
      });
  auto startup = std::async(std::launch::async, [&] {
    tcp::socket peer = speaking.accept();
    read_startup(peer);
    asio::write(peer, asio::buffer(welcome));
    return peer;
  });
  while (!opened && io.run_one_for(10s) > 0) {
  }
  REQUIRE(opened.has_value());
  CHECK_MESSAGE(opened->has_value(), opened->error().message);
  CHECK(client.server() == "127.0.0.1:" + std::to_string(speaking.local_endpoint().port()));
}

TEST_CASE("a root certificate that is missing waits for somebody to act") {
  asio::io_context server_io;
  tcp::acceptor acceptor(server_io, {asio::ip::address_v4::loopback(), 0});
  const auto target =
      "host=127.0.0.1 user=u dbname=d gssencmode=disable sslmode=verify-full sslrootcert=/no/such/root.crt "
      "port=" +
      std::to_string(acceptor.local_endpoint().port());
  asio::io_context io;
  pg::connection client(io.get_executor());
  std::optional<result<void>> opened;
  asio::co_spawn(
      io, [&]() -> asio::awaitable<void> { opened = co_await client.open(target, 30s); },
      [](std::exception_ptr thrown) {
        if (thrown) std::rethrow_exception(thrown);
      });
  // It agrees to TLS; libpq looks for the certificate then, before it says more.
  auto agreed = std::async(std::launch::async, [&] {
    tcp::socket peer = acceptor.accept();
    std::array<char, 8> request{};  // SSLRequest
    asio::read(peer, asio::buffer(request));
    asio::write(peer, asio::buffer("S", 1));
    return peer;
  });
  while (!opened && io.run_one_for(10s) > 0) {
  }
  REQUIRE(opened.has_value());
  REQUIRE_FALSE(opened->has_value());
  CAPTURE(opened->error().message);
  CHECK(opened->error().kind == fault::permanent);
  CHECK(opened->error().message.find("\"/no/such/root.crt\" does not exist") != std::string::npos);
  CHECK(opened->error().message.find("; check sslmode, sslrootcert") != std::string::npos);
}

TEST_CASE("when no host will do, the words of each are there and it ends in time") {
  asio::io_context server_io;
  tcp::acceptor silent(server_io, {asio::ip::address_v4::loopback(), 0});
  tcp::acceptor closed(server_io, {asio::ip::address_v4::loopback(), 0});
  const auto closed_port = std::to_string(closed.local_endpoint().port());
  const auto silent_port = std::to_string(silent.local_endpoint().port());
  closed.close();

  asio::io_context io;
  pg::connection client(io.get_executor());
  std::optional<result<void>> opened;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        opened = co_await client.open(
            "host=127.0.0.1,127.0.0.1 user=u dbname=d port=" + closed_port + "," + silent_port, 300ms);
      },
      [](std::exception_ptr thrown) {
        if (thrown) std::rethrow_exception(thrown);
      });
  while (!opened && io.run_one_for(10s) > 0) {
  }
  REQUIRE(opened.has_value());
  REQUIRE_FALSE(opened->has_value());
  const std::string words = opened->error().message;
  CAPTURE(words);
  CHECK(opened->error().kind == fault::transient);
  CHECK(words.find("Connection refused") != std::string::npos);
  CHECK(words.find("no answer from 127.0.0.1:" + silent_port + " in time") != std::string::npos);
}

}  // namespace pg_connection_test
