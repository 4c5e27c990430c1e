// figures: checks that at the end the relays' /metrics agree with the table.
#pragma once

#include <string>
#include <vector>

#include "injector.hpp"

namespace outboxd::chaos {

/// Call it after the drain, while the relays run. Waits until the table has been sampled once more; `words`
/// receives the relays' figures.
std::vector<std::string> check_figures(surroundings& all, std::string& words);

}  // namespace outboxd::chaos
