// running_http_server: a server with a test's own answers.
#pragma once

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <thread>

#include "http/server.hpp"
#include "support/http_client.hpp"

namespace outboxd::test {

// On a thread of its own, as a relay is a process of its own.
class running_http_server {
 public:
  explicit running_http_server(http::later_handler answer, http::limits within = {})
      : server_(io_.get_executor(), std::move(answer), {}, within) {
    const auto found = server_.listen(http::tcp_address{"127.0.0.1", 0});
    REQUIRE_MESSAGE(found.has_value(), found.error().message);
    port_ = std::get<http::tcp_address>(*found).port;
    thread_ = std::thread([this] { io_.run(); });
  }
  ~running_http_server() {
    boost::asio::post(io_, [this] { server_.stop(); });
    thread_.join();
  }
  running_http_server(const running_http_server&) = delete;
  running_http_server& operator=(const running_http_server&) = delete;

  http_client connect() const { return http_client{port_}; }
  // The answer to something after which the connection is closed.
  http_answer last_answer(std::string_view sent) const {
    auto client = connect();
    client.send(sent);
    auto out = client.read_answer();
    CHECK(client.read_all().empty());
    return out;
  }

 private:
  boost::asio::io_context io_{1};
  http::server server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace outboxd::test
