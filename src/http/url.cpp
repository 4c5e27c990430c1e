#include "http/url.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base64.hpp"
#include "core/host_port.hpp"
#include "core/percent_encoding.hpp"
#include "http/ip_address.hpp"

namespace outboxd::http {
namespace {

constexpr auto encode_hint = "in a user or password write ':' as %3A, '/' as %2F, '@' as %40, '%' as %25";

result<credentials> parse_login(std::string_view text) {
  const auto colon = text.find(':');
  const auto user = percent_decoded(text.substr(0, colon));
  const auto password =
      percent_decoded(colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1));
  if (!user || !password)
    return permanent(fmt::format("the URL has a '%' without two digits; {}", encode_hint));
  if (text.find(':', colon + 1) != std::string_view::npos && colon != std::string_view::npos)
    return permanent(fmt::format("the URL has more than one ':' before the '@'; {}", encode_hint));
  if (user->find(':') != std::string::npos)
    return permanent("the user of the URL has a ':', which HTTP's Basic authentication does not allow");
  return credentials{*user, *password};
}

}  // namespace

std::string url::authority() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", ipv6 ? "[" : "", host, ipv6 ? "]" : "", port);
}

std::string url::display() const {
  return fmt::format("http{}://{}:{}{}", tls ? "s" : "", host_in_url(host), port, path);
}

result<url> parse_url(std::string_view text, std::uint16_t default_port, std::uint16_t default_tls_port) {
  constexpr std::string_view plain = "http://";
  constexpr std::string_view secure = "https://";
  const bool tls = text.starts_with(secure);
  if (!tls && !text.starts_with(plain))
    return permanent("the URL must look like http://user:password@host:port, or https://");
  text.remove_prefix(tls ? secure.size() : plain.size());
  const auto odd = [](unsigned char c) { return c <= 0x20 || c >= 0x7F || c == '?' || c == '#'; };
  if (std::any_of(text.begin(), text.end(), odd))
    return permanent(fmt::format(
        "the URL has a '?', a '#', a blank or a character that is not ASCII; percent-encode it ({})",
        encode_hint));
  const auto slash = std::min(text.find('/'), text.size());
  auto authority = text.substr(0, slash);
  auto path = text.substr(slash);
  if (std::count(text.begin(), text.end(), '@') > 1 || path.find('@') != std::string_view::npos)
    return permanent(fmt::format("the URL has an '@' that is not the one before the host; {}", encode_hint));
  while (path.ends_with('/')) path.remove_suffix(1);
  url out{.login = {},
          .tls = tls,
          .host = {},
          .port = tls ? default_tls_port : default_port,
          .path = std::string(path)};
  if (const auto at = authority.find('@'); at != std::string_view::npos) {
    OUTBOXD_TRY(auto login, parse_login(authority.substr(0, at)));
    out.login = std::move(login);
    authority.remove_prefix(at + 1);
  }
  OUTBOXD_TRY(auto where, parse_host_port(authority, "URL", encode_hint));
  const bool ipv6 = where.host.find(':') != std::string::npos;
  if (where.host.empty() || (ipv6 && !is_ipv6(where.host)))
    return permanent(fmt::format("the host of the URL is neither a name nor an address; {}", encode_hint));
  out.host = std::move(where.host);
  out.port = where.port.value_or(out.port);
  return out;
}

std::string basic_authorization(const credentials& of) {
  std::string out = "Basic ";
  append_base64(out, of.user + ":" + of.password);
  return out;
}

}  // namespace outboxd::http
