// relay_views: reads the relays' /status.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/config/settings.hpp"

namespace outboxd::console {

// [{"url", "status", "error"}] for each relay in console.relay_urls: its /status, or null with the error.
// Without that setting, for the relay at http.listen, if it answers. Blocks for at most a second per relay.
nlohmann::json ask_relays(const app::settings& from);

}  // namespace outboxd::console
