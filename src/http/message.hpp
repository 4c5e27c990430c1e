// message: an HTTP request and its response.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outboxd::http {

inline constexpr std::string_view plain_text = "text/plain; charset=utf-8";

// Compares header names without regard to case.
bool same_header(std::string_view one, std::string_view other);

// A request is valid until it is answered.
struct request {
  std::string_view method;  // GET or HEAD; POST if the server accepts it
  std::string_view target;  // begins with a slash; includes the query
  std::vector<std::pair<std::string_view, std::string_view>> headers{};  // as received, in order
  std::string_view body{};                                               // the body of a POST
  std::string_view peer{};  // the client's IP address; empty for a Unix-domain socket

  // Returns the value of a header; nullopt if the header is missing or occurs more than once. A header that
  // controls access must not mean different things to a proxy and to this server.
  std::optional<std::string_view> header(std::string_view name) const;
};

struct response {
  int status = 200;
  std::string content_type{plain_text};
  std::string body{};  // omitted in the answer to HEAD
  std::vector<std::pair<std::string, std::string>>
      headers{};  // each name once; added to the standard headers
};

// A handler is called on the reactor, so it must return quickly.
using handler = std::function<response(const request&)>;

// A handler that may take longer: other clients are served in the meantime.
using later_handler = std::function<boost::asio::awaitable<response>(const request&)>;

later_handler answers_at_once(handler answer);

}  // namespace outboxd::http
