#include "app/config/otlp_setting.hpp"

#include <fmt/format.h>

namespace outboxd::app {

void read_otlp(setting_reader& from, settings& out) {
  const std::string key = "otlp.endpoint";
  const auto& [text, origin] = from.value(key);
  if (text.empty()) return;
  constexpr std::uint16_t port_of_collectors = 4318;
  constexpr std::uint16_t port_of_https = 443;
  auto url = http::parse_url(text, port_of_collectors, port_of_https);
  if (!url) return from.fail(fmt::format("{} ({}): {}", key, origin, url.error().message));
  if (url->login)
    return from.fail(
        fmt::format("{} ({}) has a user or password; send spans to a collector that needs none, and let that "
                    "one log in elsewhere",
                    key, origin));
  out.otlp = std::move(*url);
  out.relay.leader.stream.route.spans = true;
}

}  // namespace outboxd::app
