#include "amqp/url_password.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/percent_encoding.hpp"

namespace outboxd::amqp {
namespace {

// scheme://userinfo@rest
struct parts {
  std::string_view scheme, userinfo, rest;
  bool has_user = false;
};

parts split(std::string_view url) {
  constexpr std::string_view mark = "://";
  const auto found = url.find(mark);
  const auto begin = found == std::string_view::npos ? 0 : found + mark.size();
  const auto end = std::min(url.find_first_of("/?", begin), url.size());
  const auto at = url.substr(0, end).rfind('@');
  if (at == std::string_view::npos || at < begin) return {url.substr(0, begin), {}, url.substr(begin), false};
  return {url.substr(0, begin), url.substr(begin, at - begin), url.substr(at + 1), true};
}

}  // namespace

bool has_password(std::string_view url) {
  return split(url).userinfo.find(':') != std::string_view::npos;
}

std::string with_password(std::string_view url, std::string_view password) {
  const auto of = split(url);
  return fmt::format("{}{}:{}@{}", of.scheme, of.has_user ? of.userinfo : "guest", percent_encoded(password),
                     of.rest);
}

}  // namespace outboxd::amqp
