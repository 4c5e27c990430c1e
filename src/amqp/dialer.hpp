// dialer: connects to a URL and returns a transport with a channel in confirm mode, within a time limit.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/frame.hpp"
#include "amqp/handshake.hpp"
#include "amqp/tls_context.hpp"
#include "amqp/tls_words.hpp"
#include "amqp/transport.hpp"
#include "core/error.hpp"

namespace outboxd::amqp {

class dialer : public std::enable_shared_from_this<dialer> {
 public:
  using tcp = boost::asio::ip::tcp;

  struct line {
    std::unique_ptr<transport> wire;
    frame_parser parser;  // the parser, which may already contain frames
    tuning tuned;
    std::optional<std::string> blocked;
    std::vector<std::string> created;  // exchanges that were created
    identity broker;
    // The time at which the client certificate expires.
    std::optional<std::chrono::system_clock::time_point> certificate_expires;
  };

  dialer(boost::asio::any_io_executor executor, handshake_settings settings, std::chrono::milliseconds limit,
         tls_settings tls);

  // To be called once. `self` keeps the dialer alive until run() has returned.
  static boost::asio::awaitable<result<line>> run(std::shared_ptr<dialer> self);

  // Makes run() return an error in the next turn.
  void stop(std::string_view why);

 private:
  using endpoints = std::vector<tcp::endpoint>;

  static boost::asio::awaitable<result<endpoints>> resolve(std::shared_ptr<dialer> self);
  static boost::asio::awaitable<result<void>> connect(std::shared_ptr<dialer> self, endpoints to);
  static boost::asio::awaitable<result<void>> secure(std::shared_ptr<dialer> self);
  static boost::asio::awaitable<result<void>> shake_hands(std::shared_ptr<dialer> self);
  void arm_limit();
  // Returns the error with the reason given to stop(), or `otherwise` if there is none.
  tl::unexpected<error> failed(std::string_view otherwise) const;

  std::string peer_;
  std::string host_;
  std::uint16_t port_;
  bool wants_tls_;
  tls_settings tls_;
  std::chrono::milliseconds limit_;
  std::unique_ptr<transport> wire_;
  tcp::resolver resolver_;
  boost::asio::steady_timer limit_timer_;
  boost::asio::steady_timer resolved_timer_;  // cancelled when the name is resolved
  std::optional<result<endpoints>> resolved_;
  std::string stopped_;  // the reason; empty: not stopped
  handshake handshake_;
  frame_parser parser_{frame_max_untuned};
  certificate_refusal refused_;
  std::optional<std::chrono::system_clock::time_point> certificate_expires_;
};

}  // namespace outboxd::amqp
