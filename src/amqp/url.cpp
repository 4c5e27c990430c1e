// url: see url.hpp.
#include "amqp/url.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/host_port.hpp"
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
  // PLAIN separates user and password with NUL (RFC 4616); in a vhost or host, NUL is a mistake as well.
  if (out->find('\0') != std::string::npos)
    return permanent(fmt::format("the {} of the AMQP URL contains a NUL byte (%00); remove it", part));
  return std::move(*out);
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

// A slash at the end means the default vhost, as in most clients; according to the specification it would be
// the vhost with an empty name (https://www.rabbitmq.com/docs/uri-spec), which nobody uses.
result<void> parse_vhost(std::string_view text, url& out) {
  if (text.empty()) return {};
  if (text.find('/') != std::string_view::npos)
    return permanent("the vhost of the AMQP URL has an unencoded '/'; write it as %2F (the vhost / as /%2F)");
  // An '@' is legal in a URI path, but much more often the path is the rest of a password with an unencoded
  // '/'.
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
  return fmt::format("{}://{}@{}:{}/{}", tls ? "amqps" : "amqp", percent_encoded(user), host_in_url(host),
                     port, percent_encoded(vhost));
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
    OUTBOXD_TRY_VOID(parse_userinfo(authority.substr(0, at), out));
    authority.remove_prefix(at + 1);
  }
  OUTBOXD_TRY(auto where, parse_host_port(authority, "AMQP URL", encode_hint));
  if (!where.host.empty()) out.host = std::move(where.host);
  out.port = where.port.value_or(out.port);
  if (path.starts_with('/')) {
    OUTBOXD_TRY_VOID(parse_vhost(path.substr(1, query - 1), out));
  }
  if (query < path.size()) {
    OUTBOXD_TRY_VOID(refuse_query(path.substr(query + 1)));
  }
  return out;
}

}  // namespace outboxd::amqp
