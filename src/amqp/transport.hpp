// transport: reads and writes bytes over TCP or TLS.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

namespace outboxd::amqp {

// Satisfies the stream requirements of Asio's composed operations. Neither movable nor copyable, because the
// TLS stream refers to the socket.
class transport {
 public:
  using tcp = boost::asio::ip::tcp;
  using error_code = boost::system::error_code;
  using executor_type = tcp::socket::executor_type;
  using tls_stream = boost::asio::ssl::stream<tcp::socket&>;

  explicit transport(const boost::asio::any_io_executor& on) : socket_(on) {}
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;

  executor_type get_executor() { return socket_.get_executor(); }
  tcp::socket& socket() { return socket_; }

  // Uses TLS from now on; the caller has to perform the handshake.
  tls_stream& secure(boost::asio::ssl::context& with) { return tls_.emplace(socket_, with); }
  // The TLS version, such as TLSv1.3; empty: no TLS.
  std::string_view protocol() { return tls_ ? SSL_get_version(tls_->native_handle()) : ""; }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& into, Token&& done) {
    return boost::asio::async_initiate<Token, void(error_code, std::size_t)>(
        [this](auto handler, const Buffers& buffers) {
          if (tls_)
            tls_->async_read_some(buffers, std::move(handler));
          else
            socket_.async_read_some(buffers, std::move(handler));
        },
        done, into);
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& from, Token&& done) {
    return boost::asio::async_initiate<Token, void(error_code, std::size_t)>(
        [this](auto handler, const Buffers& buffers) {
          if (tls_)
            tls_->async_write_some(buffers, std::move(handler));
          else
            socket_.async_write_some(buffers, std::move(handler));
        },
        done, from);
  }

  // Writes as much as possible without waiting, for example a last message.
  void try_write(std::string_view bytes) {
    error_code ignored;
    if (tls_)
      tls_->write_some(boost::asio::buffer(bytes.data(), bytes.size()), ignored);
    else
      socket_.write_some(boost::asio::buffer(bytes.data(), bytes.size()), ignored);
  }

  // True if bytes have arrived but were not read.
  bool has_unread() {
    error_code ignored;
    return socket_.available(ignored) > 0;
  }

  void close() {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  tcp::socket socket_;
  std::optional<tls_stream> tls_;
};

}  // namespace outboxd::amqp
