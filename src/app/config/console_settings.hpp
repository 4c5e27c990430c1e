// console_settings: what `outboxd console` is made with.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "http/address.hpp"
#include "http/url.hpp"

namespace outboxd::app {

enum class console_access {
  off,   // there is no console
  read,  // it only shows
  act,   // users who may act can act
};

struct console_settings {
  std::vector<http::address> listen;
  console_access access = console_access::read;
  console_access payloads = console_access::act;  // who may see the payload of an event
  // Read anew each time, as any secret; a null function: there is none.
  std::function<result<std::string>()> read_token;
  std::function<result<std::string>()> act_token;
  // The URL that browsers see behind a proxy; nullopt: the listening address.
  std::optional<http::url> public_url;
  std::string proxy_header;                  // names the user; empty: no proxy
  std::vector<std::string> proxy_addresses;  // of the proxies that are believed, as inet_ntop writes them
  std::vector<std::string> act_users;        // users named by the proxy who may act; "*": everybody
  std::vector<http::url> relay_urls;         // relays whose /status is shown; empty: the relay at http.listen

  // Whether users have to log in. If not, everybody who reaches the console may look, and nobody may act.
  bool asks_who() const { return read_token || act_token || !proxy_header.empty(); }
};

}  // namespace outboxd::app
