// relay_views: what relays tell of themselves at /status.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/config/settings.hpp"

namespace outboxd::console {

// [{"url", "status", "error"}], of each relay of console.relay_urls: its /status or null, and why. Without
// that setting, of the one at http.listen, if it answers. Blocks for a second per relay at most.
nlohmann::json ask_relays(const app::settings& from);

}  // namespace outboxd::console
