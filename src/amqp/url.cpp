// url: see the header.
#include "amqp/url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/percent_encoding.hpp"

namespace outboxd::amqp {
namespace {

constexpr std::string_view form = "amqp://user:password@host:port/vhost";
constexpr std::string_view encode_hint =
    "in a user, password or vhost write ':' as %3A, '/' as %2F, '@' as %40, '?' as %3F, '#' as %23, '%' as "
    "%25";

result<std::string> decode(std::string_view text, std::string_view part) {
  auto out = percent_decoded(text);
  if (!out)
    return permanent(fmt::format(
        "the {} of the AMQP URL has a '%' that is not followed by two hexadecimal digits; write '%' as %25",
        part));
  // PLAIN separates user and password with NUL (RFC 4616); a vhost or host with one is a mistake as well.
  if (out->find('\0') != std::string::npos)
    return permanent(fmt::format("the {} of the AMQP URL contains a NUL byte (%00); remove it", part));
  return std::move(*out);
}

bool alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

result<void> parse_userinfo(std::string_view text, url& out) {
  if (text.find('@') != std::string_view::npos)
    return permanent(fmt::format("the AMQP URL has more than one '@'; {}", encode_hint));
  const auto colon = text.find(':');
  OUTBOXD_TRY(auto user, decode(text.substr(0, colon), "user"));
  out.user = std::move(user);
  if (colon == std::string_view::npos) return {};
  if (text.find(':', colon + 1) != std::string_view::npos)
    return permanent(fmt::format("the AMQP URL has more than one ':' before the '@'; {}", encode_hint));
  OUTBOXD_TRY(auto password, decode(text.substr(colon + 1), "password"));
  out.password = std::move(password);
  return {};
}

bool in_host_name(char c) {
  return alphanumeric(c) || c == '.' || c == '-' || c == '_';
}

// Takes the host off `text` and leaves ":port" or nothing.
result<std::string> take_host(std::string_view& text) {
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos)
      return permanent("the host of the AMQP URL starts with '[' but has no ']'; write IPv6 as [::1]");
    auto host = decode(text.substr(1, end - 1), "host");
    text.remove_prefix(end + 1);
    if (host &&
        (host->find(':') == std::string::npos ||
         host->substr(0, host->find('%')).find_first_not_of("0123456789abcdefABCDEF:.") != std::string::npos))
      return permanent("the host of the AMQP URL in brackets is not an IPv6 address; write it as [::1]");
    return host;
  }
  const auto end = std::min(text.find(':'), text.size());
  auto host = decode(text.substr(0, end), "host");
  text.remove_prefix(end);
  if (host && !std::all_of(host->begin(), host->end(), in_host_name))
    return permanent(
        fmt::format("the host of the AMQP URL has a character that no host name has; it takes letters, "
                    "digits, '.', '-' and '_'; "
                    "{}",
                    encode_hint));
  return host;
}

result<void> parse_host_port(std::string_view text, url& out) {
  OUTBOXD_TRY(auto host, take_host(text));
  if (!host.empty()) out.host = std::move(host);
  if (text.empty()) return {};
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data() + 1, end, port);
  if (text.front() != ':' || code != std::errc{} || stop != end || port == 0)
    return permanent(
        fmt::format("the port of the AMQP URL is not a number from 1 to 65535; {}", encode_hint));
  out.port = port;
  return {};
}

// A bare slash at the end stands for the default vhost, as most clients take it; the specification would call
// it the vhost with the empty name (https://www.rabbitmq.com/docs/uri-spec), which nobody has.
result<void> parse_vhost(std::string_view text, url& out) {
  if (text.empty()) return {};
  if (text.find('/') != std::string_view::npos)
    return permanent("the vhost of the AMQP URL has an unencoded '/'; write it as %2F (the vhost / as /%2F)");
  // Legal in a URI path, but far more often the rest of a password with a bare '/' in it.
  if (text.find('@') != std::string_view::npos)
    return permanent(fmt::format("the AMQP URL has an '@' after the host; {}", encode_hint));
  OUTBOXD_TRY(auto vhost, decode(text, "vhost"));
  if (vhost.size() > 255)
    return permanent("the vhost of the AMQP URL is longer than 255 bytes, which AMQP allows at most");
  out.vhost = std::move(vhost);
  return {};
}

result<void> refuse_query(std::string_view query) {
  if (query.find('@') != std::string_view::npos)
    return permanent(fmt::format("the AMQP URL has an '@' after a '?'; {}", encode_hint));
  const auto name = query.substr(0, query.find_first_of("=&"));
  const bool a_name = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
  return permanent(fmt::format(
      "the AMQP URL has the query parameter {}; none is supported there, use the settings of section amqp",
      a_name && !name.empty() ? fmt::format("'{}'", name) : std::string("(unreadable)")));
}

result<std::string_view> take_scheme(std::string_view text, url& out) {
  const auto end = text.find("://");
  std::string scheme(text.substr(0, end == std::string_view::npos ? 0 : end));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (scheme == "amqps") {
    out.tls = true;
    out.port = 5671;
  } else if (scheme != "amqp") {
    return permanent(fmt::format("the AMQP URL must look like {}, or begin with amqps:// for TLS", form));
  }
  return text.substr(end + 3);
}

}  // namespace

std::string url::display() const {
  const bool ipv6 = host.find(':') != std::string::npos;
  return fmt::format("{}://{}@{}{}{}:{}/{}", tls ? "amqps" : "amqp", percent_encoded(user), ipv6 ? "[" : "",
                     percent_encoded(host, ipv6 ? ":" : ""), ipv6 ? "]" : "", port, percent_encoded(vhost));
}

std::string without_password(std::string_view text) {
  constexpr std::string_view scheme_end = "://";
  const auto begin = text.find(scheme_end) + scheme_end.size();
  const auto at = text.find('@', begin);
  const auto colon = text.find(':', begin);
  if (at == std::string_view::npos || colon > at) return std::string(text);
  return fmt::format("{}***{}", text.substr(0, colon + 1), text.substr(at));
}

result<url> parse_url(std::string_view text) {
  const auto bad = std::find_if(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7F;
  });
  if (bad != text.end())
    return permanent(fmt::format(
        "byte {} of the AMQP URL is a space, a control or a non-ASCII character; remove or percent-encode it",
        bad - text.begin() + 1));
  url out;
  OUTBOXD_TRY(auto rest, take_scheme(text, out));
  if (rest.find('#') != std::string_view::npos)
    return permanent(fmt::format("the AMQP URL has a '#'; {}", encode_hint));

  const auto authority_end = std::min(rest.find_first_of("/?"), rest.size());
  auto authority = rest.substr(0, authority_end);
  auto path = rest.substr(authority_end);
  const auto query = std::min(path.find('?'), path.size());

  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    if (auto ok = parse_userinfo(authority.substr(0, at), out); !ok) return tl::make_unexpected(ok.error());
    authority.remove_prefix(at + 1);
  }
  if (auto ok = parse_host_port(authority, out); !ok) return tl::make_unexpected(ok.error());
  if (path.starts_with('/')) {
    if (auto ok = parse_vhost(path.substr(1, query - 1), out); !ok) return tl::make_unexpected(ok.error());
  }
  if (query < path.size()) {
    if (auto ok = refuse_query(path.substr(query + 1)); !ok) return tl::make_unexpected(ok.error());
  }
  return out;
}

}  // namespace outboxd::amqp
