// console_settings: the settings of `outboxd console`.
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
  off,   // the console is disabled
  read,  // the console is read-only
  act,   // users with the right to act can act
};

struct console_settings {
  std::vector<http::address> listen;
  console_access access = console_access::read;
  console_access payloads = console_access::act;  // the access level needed to see an event's payload
  // Reads the token file again at each call. A null function means that no token is set.
  std::function<result<std::string>()> read_token;
  std::function<result<std::string>()> act_token;
  // The URL that browsers use behind a proxy; nullopt: the listening address.
  std::optional<http::url> public_url;
  std::string proxy_header;                  // the header that names the user; empty: no proxy
  std::vector<std::string> proxy_addresses;  // addresses of trusted proxies, as inet_ntop writes them
  std::vector<std::string> act_users;        // users named by the proxy who may act; "*": everybody
  std::vector<http::url> relay_urls;         // relays whose /status the console shows; empty: the relay at
                                             // http.listen

  // Returns whether users must log in. Otherwise everybody who reaches the console may read, and nobody may
  // act.
  bool asks_who() const { return read_token || act_token || !proxy_header.empty(); }
};

}  // namespace outboxd::app
