// message: a request and what is answered.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace outboxd::http {

inline constexpr std::string_view plain_text = "text/plain; charset=utf-8";

struct request {
  std::string_view method;  // GET or HEAD
  std::string_view target;  // begins with a slash; with the query, if there is one
};

struct response {
  int status = 200;
  std::string content_type{plain_text};
  std::string body;  // left out in the answer to HEAD
};

// Called on the reactor: it has to be quick.
using handler = std::function<response(const request&)>;

}  // namespace outboxd::http
