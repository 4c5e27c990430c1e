#include "core/host_port.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/percent_encoding.hpp"

namespace outboxd {
namespace {

bool in_host_name(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' ||
         c == '_';
}

// A zone index may follow the address, as in fe80::1%eth0 (RFC 6874).
bool like_ipv6(std::string_view host) {
  return host.find(':') != std::string_view::npos &&
         host.substr(0, host.find('%')).find_first_not_of("0123456789abcdefABCDEF:.") ==
             std::string_view::npos;
}

result<std::uint16_t> parse_port(std::string_view text, std::string_view kind, std::string_view hint) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data() + 1, end, port);
  if (text.front() != ':' || code != std::errc{} || stop != end || port == 0)
    return permanent(fmt::format("the port of the {} is not a number from 1 to 65535; {}", kind, hint));
  return port;
}

}  // namespace

result<host_port> parse_host_port(std::string_view text, std::string_view kind, std::string_view hint) {
  const bool bracketed = text.starts_with('[');
  const auto closed = text.find(']');
  if (bracketed && closed == std::string_view::npos)
    return permanent(
        fmt::format("the host of the {} starts with '[' but has no ']'; write IPv6 as [::1]", kind));
  const auto end = bracketed ? closed + 1 : std::min(text.find(':'), text.size());
  const auto host = percent_decoded(bracketed ? text.substr(1, closed - 1) : text.substr(0, end));
  if (!host)
    return permanent(
        fmt::format("the host of the {} has a '%' that is not followed by two hexadecimal digits; "
                    "write '%' as %25",
                    kind));
  if (bracketed && (!like_ipv6(*host) || host->find('\0') != std::string::npos))
    return permanent(
        fmt::format("the host of the {} in brackets is not an IPv6 address; write it as [::1]", kind));
  if (!bracketed && !std::all_of(host->begin(), host->end(), in_host_name))
    return permanent(fmt::format(
        "the host of the {} has a character that no host name has; it takes letters, digits, '.', "
        "'-' and '_'; {}",
        kind, hint));
  host_port out{.host = *host, .port = {}};
  if (end == text.size()) return out;
  OUTBOXD_TRY(const auto port, parse_port(text.substr(end), kind, hint));
  out.port = port;
  return out;
}

std::string host_in_url(std::string_view host) {
  const bool ipv6 = host.find(':') != std::string_view::npos;
  return fmt::format("{}{}{}", ipv6 ? "[" : "", percent_encoded(host, ipv6 ? ":" : ""), ipv6 ? "]" : "");
}

}  // namespace outboxd
