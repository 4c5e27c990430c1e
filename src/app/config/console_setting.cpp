#include "app/config/console_setting.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "app/config/secret_setting.hpp"
#include "core/text.hpp"
#include "http/ip_address.hpp"

namespace outboxd::app {
namespace {

constexpr std::size_t shortest_token = 16;  // bytes

std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    if (const auto one = trimmed(text.substr(0, comma)); !one.empty()) out.emplace_back(one);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

bool is_loopback(const http::address& where) {
  const auto* tcp = std::get_if<http::tcp_address>(&where);
  if (tcp == nullptr) return true;  // file permissions protect a Unix socket
  return tcp->host == "::1" || tcp->host.starts_with("127.");
}

// A token must be visible ASCII, because it is sent in HTTP headers.
bool is_token(std::string_view text) {
  return text.size() >= shortest_token &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 0x7F; });
}

void read_token(setting_reader& from, const std::string& key, bool serves, settings& out,
                std::function<result<std::string>()>& to) {
  if (from.value(key).text.empty() && !from.has(key + "_file")) return;
  to = secret_of(from, key);
  if (!serves && from.has(key + "_file")) return;
  check_secret_file(from, key, out.warnings);
  const auto now = to();
  if (!now) return fail_unreadable(from, key, now.error());
  if (!is_token(*now))
    from.fail(
        fmt::format("{} ({}) is not allowed; give at least {} characters of ASCII without blanks, such "
                    "as `openssl rand -hex 32` prints",
                    key, origin_of_secret(from, key), shortest_token));
}

std::optional<http::url> read_url(setting_reader& from, const std::string& key, const std::string& text) {
  constexpr std::uint16_t port = 80;
  constexpr std::uint16_t tls_port = 443;
  auto parsed = http::parse_url(text, port, tls_port);
  if (parsed && !parsed->login) return std::move(*parsed);
  from.refuse(key,
              "an http:// or https:// URL without a user and password, such as https://ops.example/outbox");
  return std::nullopt;
}

void read_proxy(setting_reader& from, console_settings& to) {
  const std::string header = "console.proxy_header";
  const std::string addresses = "console.proxy_addresses";
  to.proxy_header = from.value(header).text;
  const auto in_name = [](unsigned char c) { return c < 0x80 && (std::isalnum(c) != 0 || c == '-'); };
  if (!std::all_of(to.proxy_header.begin(), to.proxy_header.end(), in_name))
    from.refuse(header, "the name of a header, such as X-Remote-User");
  for (const std::string& one : list_of(from.value(addresses).text)) {
    if (!http::is_ipv4(one) && !http::is_ipv6(one))
      return from.refuse(addresses, "IP addresses, such as 127.0.0.1 or fd00::7, or a list of such");
    // Formats the address like the peer's address, so that the two can be compared.
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    std::array<char, INET6_ADDRSTRLEN> text{};
    const int family = http::is_ipv6(one) ? AF_INET6 : AF_INET;
    ::inet_pton(family, one.c_str(), bytes.data());
    to.proxy_addresses.emplace_back(::inet_ntop(family, bytes.data(), text.data(), text.size()));
  }
  const std::string users = "console.act_users";
  to.act_users = list_of(from.value(users).text);
  const auto in_user = [](unsigned char c) { return c >= ' ' && c != 0x7F; };
  for (const std::string& one : to.act_users)
    if (!std::all_of(one.begin(), one.end(), in_user))
      from.refuse(users, "names of users as the proxy sends them, a list of these, or *");
}

// Checks the settings that depend on each other.
void check_console(setting_reader& from, const console_settings& on) {
  if (on.access == console_access::off)
    return from.refuse("console.access", "read or act for the console to be served");
  if (on.listen.empty()) return from.refuse("console.listen", "an address for the console to be served");
  if (!on.proxy_header.empty() && on.proxy_addresses.empty())
    return from.fail(
        fmt::format("console.proxy_header ({}) needs console.proxy_addresses: anybody could send that "
                    "header; name the proxy that sets it and removes a client's own",
                    from.value("console.proxy_header").origin));
  const bool somebody_acts = on.act_token || (!on.proxy_header.empty() && !on.act_users.empty());
  if (on.access == console_access::act && !somebody_acts)
    return from.fail(
        fmt::format("console.access = 'act' ({}) needs somebody who may act; give "
                    "console.act_token_file, or console.proxy_header and console.act_users",
                    from.value("console.access").origin));
  if (on.asks_who()) return;
  for (const auto& where : on.listen)
    if (!is_loopback(where))
      return from.fail(fmt::format(
          "console.listen = '{}' ({}) is reached from elsewhere, and nobody would have to log in; give "
          "console.read_token_file or console.proxy_header, or an address such as 127.0.0.1:9465",
          from.value("console.listen").text, from.value("console.listen").origin));
}

}  // namespace

void read_console(setting_reader& from, bool serves, settings& out) {
  auto& to = out.console;
  auto listen = http::parse_addresses(from.value("console.listen").text);
  if (listen)
    to.listen = std::move(*listen);
  else
    from.refuse("console.listen", listen.error().message);
  constexpr std::array<std::string_view, 3> accesses{"off", "read", "act"};
  constexpr std::array meant{console_access::off, console_access::read, console_access::act};
  to.access = meant.at(from.choice("console.access", accesses));
  to.payloads = meant.at(from.choice("console.payloads", accesses));
  read_token(from, "console.read_token", serves, out, to.read_token);
  read_token(from, "console.act_token", serves, out, to.act_token);
  if (const auto& url = from.value("console.public_url").text; !url.empty())
    to.public_url = read_url(from, "console.public_url", url);
  read_proxy(from, to);
  for (const std::string& one : list_of(from.value("console.relay_urls").text))
    if (auto url = read_url(from, "console.relay_urls", one)) {
      if (url->tls) from.refuse("console.relay_urls", "http:// URLs: relays speak no TLS");
      to.relay_urls.push_back(std::move(*url));
    }
  if (serves && !from.failed()) check_console(from, to);
}

}  // namespace outboxd::app
