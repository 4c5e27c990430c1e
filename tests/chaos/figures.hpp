// figures: in the end, what the relays tell at /metrics is what is in the table.
#pragma once

#include <string>
#include <vector>

#include "injector.hpp"

namespace outboxd::chaos {

/// After the drain, while the relays run. Waits until the table has been looked at once more; `words` gets
/// what the relays tell.
std::vector<std::string> check_figures(surroundings& all, std::string& words);

}  // namespace outboxd::chaos
