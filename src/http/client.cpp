#include "http/client.hpp"

#include <fmt/format.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <vector>

namespace outboxd::http {
namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

namespace {

using protocol = asio::generic::stream_protocol;

constexpr std::size_t longest_header = 16 * 1024;
constexpr std::size_t longest_answer = 1024 * 1024;

protocol::endpoint endpoint_of(const address& where) {
  if (const auto* path = std::get_if<unix_address>(&where))
    return asio::local::stream_protocol::endpoint(path->path);
  const auto& [host, port] = std::get<tcp_address>(where);
  auto ip = asio::ip::make_address(host.empty() ? "127.0.0.1" : host);
  if (ip.is_unspecified())
    ip = ip.is_v6() ? asio::ip::address(asio::ip::address_v6::loopback())
                    : asio::ip::address(asio::ip::address_v4::loopback());
  return asio::ip::tcp::endpoint(ip, port);
}

class question {
 public:
  // tls: nullptr for plain HTTP.
  question(asio::io_context& io, std::string_view target, std::string_view host,
           const std::string& authorization, tls_client* tls)
      : resolver_(io), socket_(io), tls_(tls), request_(beast::http::verb::get, target, 11) {
    request_.set(beast::http::field::host, host);
    request_.set(beast::http::field::connection, "close");
    if (!authorization.empty()) request_.set(beast::http::field::authorization, authorization);
    parser_.header_limit(longest_header);
    parser_.body_limit(longest_answer);
  }

  void ask(const std::string& host, std::uint16_t port) {
    resolver_.async_resolve(
        host, std::to_string(port), asio::ip::tcp::resolver::numeric_service,
        [this](const error_code& failed, const asio::ip::tcp::resolver::results_type& found) {
          if (failed) return end(failed);
          std::vector<protocol::endpoint> all;
          for (const auto& one : found) all.emplace_back(one.endpoint());
          ask(std::move(all));
        });
  }
  void ask(std::vector<protocol::endpoint> of) {
    endpoints_ = std::move(of);
    asio::async_connect(socket_, endpoints_,
                        [this](const error_code& failed, const protocol::endpoint&) { connected(failed); });
  }

  // nullopt: not ended yet.
  const std::optional<error_code>& ended() const { return ended_; }
  answer heard() { return {static_cast<int>(parser_.get().result_int()), std::move(parser_.get().body())}; }

 private:
  void connected(const error_code& failed) {
    if (failed) return end(failed);
    if (tls_ == nullptr) return ask_over(socket_);
    auto& secure = secure_.emplace(socket_, tls_->context);
    tls_->name_peer(secure.native_handle());
    secure.set_verify_callback(tls_->verify);
    secure.async_handshake(asio::ssl::stream_base::client, [this](const error_code& refused) {
      if (refused) return end(refused);
      ask_over(*secure_);
    });
  }
  template <class Stream>
  void ask_over(Stream& stream) {
    beast::http::async_write(stream, request_, [this, &stream](const error_code& unsent, std::size_t) {
      if (unsent) return end(unsent);
      beast::http::async_read(stream, buffer_, parser_,
                              [this](const error_code& unread, std::size_t) { end(unread); });
    });
  }
  void end(const error_code& with) { ended_ = with; }

  asio::ip::tcp::resolver resolver_;
  protocol::socket socket_;
  tls_client* tls_;
  std::optional<asio::ssl::stream<protocol::socket&>> secure_;
  std::vector<protocol::endpoint> endpoints_;
  beast::http::request<beast::http::empty_body> request_;
  beast::flat_buffer buffer_;
  beast::http::response_parser<beast::http::string_body> parser_;
  std::optional<error_code> ended_;
};

std::string words_of(const error_code& failed) {
  using beast::http::error;
  if (failed == error::body_limit || failed == error::header_limit)
    return fmt::format("the answer is longer than {} bytes", longest_answer);
  if (failed == error::end_of_stream || failed == error::partial_message ||
      failed == asio::ssl::error::stream_truncated)
    return "the connection ended before the answer did";
  if (failed.category() == beast::http::make_error_code(error::bad_method).category())
    return fmt::format("the answer is no HTTP ({})", failed.message());
  return failed.message();
}

result<answer> answer_to(question& one, asio::io_context& io, const std::string& whom,
                         std::chrono::milliseconds limit, const tls_client* tls) {
  io.run_for(limit);
  if (!one.ended()) return transient(fmt::format("{} does not answer within {} ms", whom, limit.count()));
  if (*one.ended()) {
    const auto about_tls = tls != nullptr ? tls->words(*one.ended()) : std::nullopt;
    return transient(fmt::format("{}: {}", whom, about_tls ? *about_tls : words_of(*one.ended())));
  }
  return one.heard();
}

}  // namespace

result<answer> get(const address& from, std::string_view target, std::chrono::milliseconds limit) {
  asio::io_context io(1);
  question one(io, target, "localhost", {}, nullptr);
  one.ask({endpoint_of(from)});
  return answer_to(one, io, url_of(from), limit, nullptr);
}

result<answer> get(const url& from, std::string_view target, const std::string& authorization,
                   std::chrono::milliseconds limit, tls_client* tls) {
  asio::io_context io(1);
  const bool ipv6 = from.host.find(':') != std::string::npos;
  const auto host = fmt::format("{}{}{}:{}", ipv6 ? "[" : "", from.host, ipv6 ? "]" : "", from.port);
  question one(io, from.path + std::string(target), host, authorization, tls);
  one.ask(from.host, from.port);
  return answer_to(one, io, from.display(), limit, tls);
}

}  // namespace outboxd::http
