// question: one request to an HTTP server and its answer, on a reactor of the caller's.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/span_body.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/client.hpp"

namespace outboxd::http {

class question : public std::enable_shared_from_this<question> {
 public:
  using endpoint = boost::asio::generic::stream_protocol::endpoint;
  using request = boost::beast::http::request<boost::beast::http::span_body<const char>>;
  // With the error, if there was one.
  using heard = std::function<void(const boost::system::error_code&)>;

  // `body`: of POST; null: it is a GET. tls: null for plain HTTP. `lookups` looks up the server's name.
  question(const boost::asio::any_io_executor& on, const boost::asio::any_io_executor& lookups,
           std::string_view target, std::string_view host, std::shared_ptr<const std::string> body,
           std::size_t longest_answer, std::shared_ptr<tls_client> tls);

  void set(boost::beast::http::field name, std::string_view value) { request_.set(name, value); }

  // `then` is called once, unless stop() comes first. It may own the question.
  void ask(const std::string& host, std::uint16_t port, heard then);
  void ask(std::vector<endpoint> of, heard then);
  // Ends the connection. A look-up of the name cannot be interrupted: it keeps the question alive.
  void stop();
  bool looks_up() const { return looks_up_; }

  // After `then`, which had no error.
  answer take();
  // What went wrong, for people.
  std::string words_of(const boost::system::error_code& failed) const;

 private:
  using socket = boost::asio::generic::stream_protocol::socket;

  void connect();
  void connected(const boost::system::error_code& failed);
  template <class Stream>
  void ask_over(Stream& stream);
  void end(const boost::system::error_code& with);

  boost::asio::any_io_executor on_;
  boost::asio::ip::tcp::resolver resolver_;
  socket socket_;
  std::size_t longest_answer_;
  std::shared_ptr<tls_client> tls_;
  std::optional<boost::asio::ssl::stream<socket&>> secure_;
  std::vector<endpoint> endpoints_;
  std::shared_ptr<const std::string> body_;
  request request_;
  boost::beast::flat_buffer buffer_;
  boost::beast::http::response_parser<boost::beast::http::string_body> parser_;
  bool looks_up_ = false;
  heard then_;  // empty: nobody waits any more
};

}  // namespace outboxd::http
