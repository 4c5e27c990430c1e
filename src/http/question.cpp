#include "http/question.hpp"

#include <fmt/format.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/beast/http.hpp>
#include <utility>

namespace outboxd::http {
namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

namespace {

constexpr std::size_t longest_header = 16 * 1024;

}  // namespace

question::question(const asio::any_io_executor& on, const asio::any_io_executor& lookups,
                   std::string_view target, std::string_view host, std::shared_ptr<const std::string> body,
                   std::size_t longest_answer, std::shared_ptr<tls_client> tls)
    : on_(on),
      resolver_(lookups),
      socket_(on),
      longest_answer_(longest_answer),
      tls_(std::move(tls)),
      body_(std::move(body)),
      request_(body_ ? beast::http::verb::post : beast::http::verb::get, target, 11) {
  request_.set(beast::http::field::host, host);
  request_.set(beast::http::field::connection, "close");
  if (body_) {
    request_.body() = {body_->data(), body_->size()};
    request_.prepare_payload();
  }
  parser_.header_limit(longest_header);
  parser_.body_limit(longest_answer);
}

void question::ask(const std::string& host, std::uint16_t port, heard then) {
  then_ = std::move(then);
  looks_up_ = true;
  resolver_.async_resolve(host, std::to_string(port), asio::ip::tcp::resolver::numeric_service,
                          asio::bind_executor(on_, [self = shared_from_this()](
                                                       const error_code& failed,
                                                       const asio::ip::tcp::resolver::results_type& found) {
                            self->looks_up_ = false;
                            if (failed || !self->then_) return self->end(failed);
                            for (const auto& one : found) self->endpoints_.emplace_back(one.endpoint());
                            self->connect();
                          }));
}

void question::ask(std::vector<endpoint> of, heard then) {
  then_ = std::move(then);
  endpoints_ = std::move(of);
  connect();
}

void question::connect() {
  asio::async_connect(
      socket_, endpoints_,
      [self = shared_from_this()](const error_code& failed, const endpoint&) { self->connected(failed); });
}

void question::connected(const error_code& failed) {
  if (failed || !then_) return end(failed);
  if (!tls_) return ask_over(socket_);
  auto& secure = secure_.emplace(socket_, tls_->context);
  tls_->name_peer(secure.native_handle());
  secure.set_verify_callback(tls_->verify);
  secure.async_handshake(asio::ssl::stream_base::client,
                         [self = shared_from_this()](const error_code& refused) {
                           if (refused || !self->then_) return self->end(refused);
                           self->ask_over(*self->secure_);
                         });
}

template <class Stream>
void question::ask_over(Stream& stream) {
  beast::http::async_write(
      stream, request_, [self = shared_from_this(), &stream](const error_code& unsent, std::size_t) {
        if (unsent || !self->then_) return self->end(unsent);
        beast::http::async_read(stream, self->buffer_, self->parser_,
                                [self](const error_code& unread, std::size_t) { self->end(unread); });
      });
}

void question::end(const error_code& with) {
  if (const auto then = std::exchange(then_, nullptr)) then(with);
}

void question::stop() {
  then_ = nullptr;
  resolver_.cancel();
  error_code ignored;
  socket_.close(ignored);
}

answer question::take() {
  const auto again = parser_.get()[beast::http::field::retry_after];
  return {.status = static_cast<int>(parser_.get().result_int()),
          .body = std::move(parser_.get().body()),
          .retry_after = std::string(again)};
}

std::string question::words_of(const error_code& failed) const {
  using beast::http::error;
  if (const auto about_tls = tls_ ? tls_->words(failed) : std::nullopt) return *about_tls;
  if (failed == error::body_limit || failed == error::header_limit)
    return fmt::format("the answer is longer than {} bytes", longest_answer_);
  if (failed == error::end_of_stream || failed == error::partial_message ||
      failed == asio::ssl::error::stream_truncated)
    return "the connection ended before the answer did";
  if (failed.category() == beast::http::make_error_code(error::bad_method).category())
    return fmt::format("the answer is no HTTP ({})", failed.message());
  return failed.message();
}

}  // namespace outboxd::http
