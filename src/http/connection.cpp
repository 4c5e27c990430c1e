// Only this file and client.cpp include Beast.
#include "http/connection.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstring>
#include <ctime>
#include <utility>

#include "http/as_result.hpp"

namespace outboxd::http {
namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

namespace {

// Closing while the client still sends would cause a reset, which can overtake the response.
constexpr std::chrono::milliseconds linger_for{1'000};
constexpr std::size_t linger_bytes = 256 * 1024;

// Parses the header. The body is read by another parser, after the request has been accepted.
using parser_type = beast::http::request_parser<beast::http::empty_body>;
using body_parser = beast::http::request_parser<beast::http::string_body>;

// nullopt: no response, because the client is gone.
std::optional<response> refusal_of(const error_code& failed) {
  using beast::http::error;
  if (failed == error::end_of_stream || failed == error::partial_message) return std::nullopt;
  if (failed == error::header_limit || failed == error::buffer_overflow)
    return response{431, std::string(plain_text), "the header is too large\n"};
  if (failed == error::bad_version) return response{505, std::string(plain_text), "HTTP/1.1 or HTTP/1.0\n"};
  if (failed.category() == beast::http::make_error_code(error::bad_method).category())
    return response{400, std::string(plain_text), "this is no HTTP request\n"};
  return std::nullopt;
}

response method_refused(std::string allowed) {
  return {405,
          std::string(plain_text),
          "the methods are " + allowed + "\n",
          {{std::string(beast::http::to_string(beast::http::field::allow)), allowed}}};
}

// A POST must state the length of its body, so that a body that is too long is rejected unread.
std::optional<response> refusal_of_body(const parser_type& parser, std::size_t most) {
  const auto announced = parser.content_length();
  if (!announced) return response{411, std::string(plain_text), "a POST needs a Content-Length\n"};
  if (*announced > most)
    return response{413, std::string(plain_text),
                    "a body of at most " + std::to_string(most) + " bytes is accepted\n"};
  return std::nullopt;
}

// Returns the response to a valid HTTP request that is not acceptable, or nullopt.
std::optional<response> refusal_of(const parser_type& parser, const service& of, bool local) {
  using beast::http::verb;
  const auto& asked = parser.get();
  const std::size_t most = of.within.body_bytes;
  if (asked.method() == verb::post && most > 0) {
    if (auto refused = refusal_of_body(parser, most)) return refused;
  } else {
    if (asked.method() != verb::get && asked.method() != verb::head)
      return method_refused(most > 0 ? "GET, HEAD, POST" : "GET, HEAD");
    if (!parser.is_done()) return response{413, std::string(plain_text), "a request has no body here\n"};
  }
  if (!asked.target().starts_with('/'))
    return response{400, std::string(plain_text), "the path begins with a slash\n"};
  const auto named = asked.count(beast::http::field::host);
  if (named > 1 || (named == 0 && asked.version() >= 11))
    return response{400, std::string(plain_text), "exactly one Host header is needed\n"};
  if (local || named == 0 || of.hosts.allow(asked[beast::http::field::host])) return std::nullopt;
  return response{421, std::string(plain_text), "this Host is not in " + of.hosts.setting() + "\n"};
}

std::string date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::string text(sizeof("Sun, 06 Nov 1994 08:49:37 GMT") + 8, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &utc));
  return text;
}

}  // namespace

struct connection::reading {
  explicit reading(std::size_t most) : buffer(most) {}
  beast::flat_buffer buffer;  // received bytes, including pipelined requests
};

connection::connection(socket_type socket, std::shared_ptr<service> of, bool local)
    : socket_(std::move(socket)),
      service_(std::move(of)),
      local_(local),
      limit_timer_(socket_.get_executor()),
      turn_timer_(socket_.get_executor()),
      reading_(std::make_unique<reading>(service_->within.header_bytes)) {}

connection::~connection() = default;

void connection::close() {
  error_code ignored;
  limit_timer_.cancel();
  turn_timer_.cancel();
  socket_.close(ignored);
}

void connection::limit(std::chrono::milliseconds within) {
  limit_timer_.expires_after(within);
  limit_timer_.async_wait([self = weak_from_this()](const error_code& cancelled) {
    const auto alive = self.lock();
    // The handler may already be queued when the next limit is set.
    if (cancelled || !alive || alive->limit_timer_.expiry() > asio::steady_timer::clock_type::now()) return;
    alive->close();
  });
}

asio::awaitable<void> connection::serve(std::shared_ptr<connection> self) {
  bool first = true;
  while (co_await serve_one(self, std::exchange(first, false)) == next::another_request) {
  }
  self->close();
}

// Returns false if the client has closed the connection, or the time limit has expired.
asio::awaitable<bool> connection::await_request(std::shared_ptr<connection> self, bool first) {
  auto& buffer = self->reading_->buffer;
  const limits& within = self->service_->within;
  self->limit(first ? within.request : within.idle);
  if (buffer.size() == 0) {
    const auto room = buffer.prepare(buffer.max_size());
    const auto [failed, got] = co_await self->socket_.async_read_some(room, as_result);
    if (failed) co_return false;
    buffer.commit(got);
  }
  if (!first) self->limit(within.request);
  co_return true;
}

asio::awaitable<connection::next> connection::serve_one(std::shared_ptr<connection> self, bool first) {
  if (!co_await await_request(self, first)) co_return next::close;
  parser_type parser;
  parser.header_limit(static_cast<std::uint32_t>(self->service_->within.header_bytes));
  parser.body_limit(boost::none);  // the parser must not reject a body here, because an announced body is
                                   // rejected later
  const auto [failed, size] =
      co_await beast::http::async_read_header(self->socket_, self->reading_->buffer, parser, as_result);
  if (failed) {
    auto refused = refusal_of(failed);
    if (refused) co_await respond(self, std::move(*refused), false, false);
    co_return next::close;
  }
  // Waits until the rate limit allows the answer, so that other clients are served and the relay can work.
  self->limit(self->service_->within.write);
  const auto now = pace::clock::now();
  if (const auto turn = self->service_->turns.next(now); turn > now) {
    self->turn_timer_.expires_at(turn);
    co_await self->turn_timer_.async_wait(as_result);
  }
  const auto& asked = parser.get();
  const bool without_body = asked.method() == beast::http::verb::head;
  if (auto refused = refusal_of(parser, *self->service_, self->local_)) {
    co_await respond(self, std::move(*refused), without_body, false);
    co_return next::close;
  }
  body_parser whole(std::move(parser));
  if (!whole.is_done()) {
    whole.body_limit(self->service_->within.body_bytes);
    self->limit(self->service_->within.request);
    const auto [cut, unused] =
        co_await beast::http::async_read(self->socket_, self->reading_->buffer, whole, as_result);
    if (cut) co_return next::close;
  }
  const auto& got = whole.get();
  const auto peer = self->peer();
  request what{got.method_string(), got.target(), {}, got.body(), peer};
  for (const auto& one : got) what.headers.emplace_back(one.name_string(), one.value());
  response out = co_await answer(self, what);
  co_return co_await respond(self, std::move(out), without_body, got.keep_alive());
}

asio::awaitable<response> connection::answer(std::shared_ptr<connection> self, const request& asked) {
  self->limit(self->service_->within.answer);
  try {
    co_return co_await self->service_->answer(asked);
  } catch (const std::exception&) {
  }
  co_return response{500, std::string(plain_text), "this could not be answered\n"};
}

// Converts an IPv4-mapped IPv6 address to IPv4.
std::string connection::peer() const {
  if (local_) return {};
  error_code failed;
  const auto end = socket_.remote_endpoint(failed);
  if (failed || end.size() > sizeof(sockaddr_storage)) return {};
  asio::ip::tcp::endpoint ip;
  if (end.protocol().family() != AF_INET && end.protocol().family() != AF_INET6) return {};
  ip.resize(end.size());
  std::memcpy(ip.data(), end.data(), end.size());
  const auto from = ip.address();
  if (from.is_v6() && from.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, from.to_v6()).to_string();
  return from.to_string();
}

asio::awaitable<connection::next> connection::respond(std::shared_ptr<connection> self, response what,
                                                      bool without_body, bool keep_alive) {
  using beast::http::field;
  beast::http::response<beast::http::string_body> out;
  out.result(static_cast<unsigned>(what.status));
  out.set(field::date, date());
  out.set(field::content_type, what.content_type);
  out.set(field::cache_control, "no-store");
  out.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : what.headers) out.set(name, value);
  out.keep_alive(keep_alive);
  out.content_length(what.body.size());
  if (!without_body) out.body() = std::move(what.body);
  self->limit(self->service_->within.write);
  beast::http::response_serializer<beast::http::string_body> serializer(out);
  error_code failed;
  if (without_body)
    std::tie(failed, std::ignore) =
        co_await beast::http::async_write_header(self->socket_, serializer, as_result);
  else
    std::tie(failed, std::ignore) = co_await beast::http::async_write(self->socket_, serializer, as_result);
  if (failed) co_return next::close;
  if (keep_alive) co_return next::another_request;
  co_await linger(self);
  co_return next::close;
}

// Waits a short time for the client to close its side.
asio::awaitable<void> connection::linger(std::shared_ptr<connection> self) {
  error_code failed;
  self->socket_.shutdown(socket_type::shutdown_send, failed);
  auto& buffer = self->reading_->buffer;
  buffer.clear();
  self->limit(std::min(linger_for, self->service_->within.request));
  for (std::size_t all = 0; !failed && all < linger_bytes;) {
    std::size_t got = 0;
    std::tie(failed, got) =
        co_await self->socket_.async_read_some(buffer.prepare(buffer.max_size()), as_result);
    all += got;
  }
}

}  // namespace outboxd::http
