#include "http/address.hpp"

#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/text.hpp"
#include "http/ip_address.hpp"

namespace outboxd::http {
namespace {

constexpr std::string_view unix_prefix = "unix:";
constexpr std::size_t longest_path = sizeof(sockaddr_un::sun_path) - 1;

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* const last = text.data() + text.size();
  const auto [end, failed] = std::from_chars(text.data(), last, port);
  if (text.empty() || failed != std::errc() || end != last) return std::nullopt;
  return port;
}

// Returns the IP address; empty: all addresses.
std::optional<std::string> parse_host(std::string_view text) {
  if (text.empty()) return std::string();
  if (text == "localhost") return "127.0.0.1";
  if (text.starts_with('[') && text.ends_with(']')) {
    text = text.substr(1, text.size() - 2);
    return is_ipv6(text) ? std::optional(std::string(text)) : std::nullopt;
  }
  return is_ipv4(text) ? std::optional(std::string(text)) : std::nullopt;
}

result<address> parse_unix(std::string_view path) {
  if (path.find('\0') != std::string_view::npos || !path.starts_with('/') || path.ends_with('/'))
    return permanent("the absolute path of a socket, such as unix:/run/outboxd/http.sock");
  if (path.size() > longest_path)
    return permanent(fmt::format("a path of at most {} bytes for a Unix socket", longest_path));
  return unix_address{std::string(path)};
}

}  // namespace

result<address> parse_address(std::string_view text) {
  if (text.starts_with(unix_prefix)) return parse_unix(text.substr(unix_prefix.size()));
  const auto colon = text.rfind(':');
  const auto host = colon == std::string_view::npos ? std::nullopt : parse_host(text.substr(0, colon));
  const auto port = colon == std::string_view::npos ? std::nullopt : parse_port(text.substr(colon + 1));
  if (!host || !port)
    return permanent(
        "an IP address and a port, such as 127.0.0.1:9464, [::1]:9464 or :9464 (every address), unix:/path, "
        "a list of these, or off");
  return tcp_address{*host, *port};
}

result<std::vector<address>> parse_addresses(std::string_view text) {
  std::vector<address> out;
  if (trimmed(text) == "off") return out;
  for (;;) {
    const auto comma = text.find(',');
    OUTBOXD_TRY(auto one, parse_address(trimmed(text.substr(0, comma))));
    // Port 0 may be repeated, because the system chooses a different port each time.
    const auto* tcp = std::get_if<tcp_address>(&one);
    const bool again = std::find(out.begin(), out.end(), one) != out.end();
    if (again && (tcp == nullptr || tcp->port != 0)) return permanent("each address once");
    out.push_back(std::move(one));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

std::string url_of(const address& where) {
  if (const auto* path = std::get_if<unix_address>(&where)) return fmt::format("unix:{}", path->path);
  const auto& [host, port] = std::get<tcp_address>(where);
  if (host.empty()) return fmt::format("http://*:{}", port);
  if (host.find(':') != std::string::npos) return fmt::format("http://[{}]:{}", host, port);
  return fmt::format("http://{}:{}", host, port);
}

}  // namespace outboxd::http
