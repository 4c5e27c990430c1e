// reload: which changed settings a running relay applies, and which require a restart.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/settings.hpp"

namespace outboxd::app {

// These settings and the routes can change at run time: relay::adopt and logger::adopt apply them. A change
// to or from retention.published = 0s takes effect only when the relay is restarted.
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
  settings in_force;                    // the previous settings with the changed live settings
  std::vector<std::string> taken_up;    // keys of the settings that were applied
  std::vector<std::string> at_restart;  // keys of the changed settings that require a restart
};

// Fails, without changing anything, if `found` is invalid or its live settings conflict with the settings
// that cannot change.
result<reloaded> reload(const settings& in_force, const raw_settings& found);

// Returns the text of a setting and its origin.
raw_value value_of(const settings& from, const std::string& key);

}  // namespace outboxd::app
