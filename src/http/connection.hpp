// connection: one client's requests, one after another, each within the limits.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "http/allowed_hosts.hpp"
#include "http/message.hpp"
#include "http/pace.hpp"

namespace outboxd::http {

struct limits {
  std::size_t connections = 64;              // concurrent; the next client gets 503 and is disconnected
  std::size_t header_bytes = 8192;           // maximum size of a request header, including its first line
  std::size_t body_bytes = 0;                // maximum size of a POST body; 0: POST is rejected
  std::chrono::milliseconds request{5'000};  // from connect, or from the first byte of a request, until the
                                             // request is complete
  std::chrono::milliseconds answer{30'000};  // time limit of the handler
  std::chrono::milliseconds idle{30'000};    // between two requests
  std::chrono::milliseconds write{10'000};   // for sending a response
  int answers_per_second = 100;              // for all connections together
};

// State that all connections of a server share.
struct service {
  later_handler answer;
  allowed_hosts hosts;
  limits within;
  pace turns;
};

class connection : public std::enable_shared_from_this<connection> {
 public:
  using socket_type = boost::asio::generic::stream_protocol::socket;

  // `local`: the connection uses a Unix-domain socket, which no web page can reach, so any Host is accepted.
  connection(socket_type socket, std::shared_ptr<service> of, bool local);
  ~connection();

  // To be called once; returns when the connection is closed.
  static boost::asio::awaitable<void> serve(std::shared_ptr<connection> self);

  void close();

 private:
  struct reading;
  enum class next { another_request, close };

  static boost::asio::awaitable<next> serve_one(std::shared_ptr<connection> self, bool first);
  static boost::asio::awaitable<bool> await_request(std::shared_ptr<connection> self, bool first);
  static boost::asio::awaitable<response> answer(std::shared_ptr<connection> self, const request& asked);
  static boost::asio::awaitable<next> respond(std::shared_ptr<connection> self, response what,
                                              bool without_body, bool keep_alive);
  std::string peer() const;
  static boost::asio::awaitable<void> linger(std::shared_ptr<connection> self);
  // Closes the connection after this time, unless another limit is set before.
  void limit(std::chrono::milliseconds within);

  socket_type socket_;
  std::shared_ptr<service> service_;
  bool local_;
  boost::asio::steady_timer limit_timer_;
  boost::asio::steady_timer turn_timer_;
  std::unique_ptr<reading> reading_;
};

}  // namespace outboxd::http
