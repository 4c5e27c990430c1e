// amqp_reach_test: an address that answers nothing keeps nobody from the next one.
#include "amqp/reach.hpp"

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <list>
#include <memory>
#include <optional>

namespace amqp_reach_test {

using namespace outboxd;
using namespace std::chrono_literals;
using boost::asio::ip::tcp;

namespace {

const tcp::endpoint any_port(boost::asio::ip::address_v4::loopback(), 0);

// Its queue is full, so that the kernel drops who else comes.
class silent_address {
 public:
  explicit silent_address(boost::asio::io_context& io) : port_(io, any_port) {
    constexpr int more_than_enough = 8;
    port_.listen(0);
    for (int i = 0; i < more_than_enough; ++i) {
      tcp::socket& one = crowd_.emplace_back(io, tcp::v4());
      one.native_non_blocking(true);
      const tcp::endpoint here = at();
      ::connect(one.native_handle(), here.data(), static_cast<socklen_t>(here.size()));
    }
  }
  tcp::endpoint at() const { return port_.local_endpoint(); }

 private:
  tcp::acceptor port_;
  std::list<tcp::socket> crowd_;
};

struct attempt {
  explicit attempt(boost::asio::io_context& on) : io(on), socket(on) {}

  boost::asio::io_context& io;
  tcp::socket socket;
  std::optional<result<void>> done;

  static boost::asio::awaitable<void> go(attempt* self, std::vector<tcp::endpoint> to,
                                         std::chrono::milliseconds share) {
    self->done = co_await amqp::reach(self->socket, std::move(to), share);
  }
  void start(std::vector<tcp::endpoint> to, std::chrono::milliseconds share) {
    boost::asio::co_spawn(io, go(this, std::move(to), share), boost::asio::detached);
  }
};

}  // namespace

TEST_CASE("an address that answers nothing and one that refuses are passed over") {
  boost::asio::io_context io;
  const silent_address silent(io);
  tcp::acceptor open(io, any_port);
  tcp::endpoint closed;
  {
    const tcp::acceptor gone(io, any_port);
    closed = gone.local_endpoint();
  }
  attempt it(io);
  it.start({silent.at(), closed, open.local_endpoint()}, 50ms);
  io.run_for(30s);
  REQUIRE(it.done.has_value());
  CHECK(it.done->has_value());
  CHECK(it.socket.remote_endpoint() == open.local_endpoint());
}

TEST_CASE("the last address says why there is no connection") {
  boost::asio::io_context io;
  const silent_address silent(io);
  tcp::endpoint closed;
  {
    const tcp::acceptor gone(io, any_port);
    closed = gone.local_endpoint();
  }
  attempt it(io);
  it.start({silent.at(), closed}, 50ms);
  io.run_for(30s);
  REQUIRE(it.done.has_value());
  REQUIRE_FALSE(it.done->has_value());
  CHECK(it.done->error().message.find("Connection refused") != std::string::npos);
  attempt none(io);
  none.start({}, 50ms);
  io.restart();
  io.run_for(30s);
  REQUIRE(none.done.has_value());
  CHECK(none.done->error().message == "the host has no address");
}

TEST_CASE("closing the socket ends the attempt, whatever else could be tried") {
  boost::asio::io_context io;
  const silent_address silent(io);
  tcp::acceptor open(io, any_port);
  attempt it(io);
  it.start({silent.at(), open.local_endpoint()}, 1h);
  boost::asio::post(io, [&] { it.socket.close(); });
  io.run_for(30s);
  REQUIRE(it.done.has_value());
  REQUIRE_FALSE(it.done->has_value());
  CHECK(it.done->error().message == "cancelled");
}

}  // namespace amqp_reach_test
