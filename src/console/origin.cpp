#include "console/origin.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.hpp"

namespace outboxd::console {

std::string origin_of(const http::url& page) {
  const bool ipv6 = page.host.find(':') != std::string::npos;
  const bool usual = page.port == (page.tls ? 443 : 80);
  std::string out =
      fmt::format("http{}://{}{}{}", page.tls ? "s" : "", ipv6 ? "[" : "", page.host, ipv6 ? "]" : "");
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return usual ? out : fmt::format("{}:{}", out, page.port);
}

bool may_be_own(const http::request& asked) {
  // A browser sends this header only once.
  std::string_view site = "none";
  for (const auto& [name, value] : asked.headers)
    if (http::same_header(name, "Sec-Fetch-Site")) site = site == "none" ? value : "cross-site";
  return site == "none" || site == "same-origin";
}

bool is_own(const http::request& asked, const std::optional<http::url>& public_url) {
  const auto origin = asked.header("Origin");
  if (!origin || !may_be_own(asked)) return false;
  if (public_url && *origin == origin_of(*public_url)) return true;
  const auto host = asked.header("Host");
  return host && !host->empty() &&
         (*origin == fmt::format("http://{}", *host) || *origin == fmt::format("https://{}", *host));
}

std::optional<std::string_view> cookie(const http::request& asked, std::string_view name) {
  const auto all = asked.header("Cookie");
  if (!all) return std::nullopt;
  std::optional<std::string_view> found;
  std::string_view rest = *all;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(';'), rest.size());
    const auto one = trimmed(rest.substr(0, end));
    const auto equals = one.find('=');
    if (equals != std::string_view::npos && one.substr(0, equals) == name) {
      // A duplicate comes from another path or a parent domain, and it is unknown which cookie is ours.
      if (found) return std::nullopt;
      found = one.substr(equals + 1);
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return found;
}

}  // namespace outboxd::console
