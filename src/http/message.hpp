// message: a request and what is answered.
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

// Names of headers are the same in capitals and small letters.
bool same_header(std::string_view one, std::string_view other);

// Lives until it is answered.
struct request {
  std::string_view method;  // GET or HEAD; POST, where the server takes it
  std::string_view target;  // begins with a slash; with the query, if there is one
  std::vector<std::pair<std::string_view, std::string_view>> headers{};  // as they came, in their order
  std::string_view body{};                                               // of POST
  std::string_view peer{};  // the client's IP address; empty: it has connected over a Unix socket

  // The value of a header; nullopt if it is missing or occurs more than once: a header that decides about
  // access must not mean different things to a proxy and to this server.
  std::optional<std::string_view> header(std::string_view name) const;
};

struct response {
  int status = 200;
  std::string content_type{plain_text};
  std::string body{};  // left out in the answer to HEAD
  std::vector<std::pair<std::string, std::string>>
      headers{};  // each name once; added to those of every answer
};

// Called on the reactor: it has to be quick.
using handler = std::function<response(const request&)>;

// The same, and may take its time: others are answered meanwhile.
using later_handler = std::function<boost::asio::awaitable<response>(const request&)>;

later_handler answers_at_once(handler answer);

}  // namespace outboxd::http
