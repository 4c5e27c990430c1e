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
  act,   // who may act can act
};

struct console_settings {
  std::vector<http::address> listen;
  console_access access = console_access::read;
  console_access payloads = console_access::act;  // who may see one, when he asks for it
  // Read anew each time, as any secret; a null function: there is none.
  std::function<result<std::string>()> read_token;
  std::function<result<std::string>()> act_token;
  // As browsers see it behind a proxy; nothing: as it listens.
  std::optional<http::url> public_url;
  std::string proxy_header;                  // tells who asks; empty: none does
  std::vector<std::string> proxy_addresses;  // of the proxies that are believed, as inet_ntop writes them
  std::vector<std::string> act_users;        // of those that the proxy names, who may act; "*": everybody
  std::vector<http::url> relay_urls;         // whose /status is shown; empty: the one at http.listen

  // Whether anybody has to show who he is. Otherwise whoever reaches the console may look, and nobody may
  // act.
  bool asks_who() const { return read_token || act_token || !proxy_header.empty(); }
};

}  // namespace outboxd::app
