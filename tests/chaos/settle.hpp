// settle: after the last fault, repairs everything, waits for the drain, stops the relays, and checks that
// nothing is left.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "injector.hpp"

namespace outboxd::chaos {

/// Restores every server, link and relay to its initial state.
void heal_all(surroundings& all);

struct drained {
  std::chrono::milliseconds took{0};
  std::size_t backlog = 0;  // at the beginning
  std::vector<std::string> violations;
};

/// Invariant 8. Waits until no event is pending or waiting. Fails if there was no progress for several times
/// as long as the settings explain, so that a slow machine does not cause a failure.
drained await_drained(surroundings& all, const std::function<bool()>& interrupted);

/// Invariant 10, first half: compares the relays' descriptors and memory with those at their start.
std::vector<std::string> check_footprints(surroundings& all, int shards, const std::vector<footprint>& before,
                                          std::string& words);

/// Invariant 10, second half: stops all relays with SIGTERM, and checks that they have left nothing on the
/// servers.
std::vector<std::string> stop_all(surroundings& all);

}  // namespace outboxd::chaos
