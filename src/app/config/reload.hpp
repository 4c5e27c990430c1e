// reload: what of changed settings a running relay takes up, and what waits for its restart.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/settings.hpp"

namespace outboxd::app {

// They change at run time, and so do routes: relay::adopt and logger::adopt take them up. A change of
// retention.published to or from 0s takes effect at the next start.
inline constexpr std::array<std::string_view, 16> live_keys{
    "amqp.confirm_timeout",
    "relay.sweep_interval",
    "relay.standby_interval",
    "relay.shutdown_grace",
    "relay.max_rate",
    "retry.schedule",
    "retry.base",
    "retry.cap",
    "retry.max_attempts",
    "retry.give_up_after",
    "retention.published",
    "retention.processed",
    "log.level",
    "log.format",
    "cloudevents.source",
    "cloudevents.header_prefix",
};

struct reloaded {
  settings in_force;                    // those of before, with the changed live ones
  std::vector<std::string> taken_up;    // keys
  std::vector<std::string> at_restart;  // keys that have changed and have no effect before
};

// An error if `found` is not good, or if its live settings do not fit those that stay; then nothing changes.
result<reloaded> reload(const settings& in_force, const raw_settings& found);

// The text of a setting and where it came from.
raw_value value_of(const settings& from, const std::string& key);

}  // namespace outboxd::app
