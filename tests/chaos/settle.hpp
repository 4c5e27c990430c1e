// settle: after the last fault: everything heals, drains, stops, and leaves nothing behind.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "injector.hpp"

namespace outboxd::chaos {

/// Every server, link and relay is as at the beginning.
void heal_all(surroundings& all);

struct drained {
  std::chrono::milliseconds took{0};
  std::size_t backlog = 0;  // at its begin
  std::vector<std::string> violations;
};

/// Invariant 8. Waits until no event is pending or waiting any more. It fails when nothing has moved for as
/// long as the settings explain several times over, and so not because a machine is slow.
drained await_drained(surroundings& all, const std::function<bool()>& interrupted);

/// Invariant 10, first half: the relays' descriptors and memory against those at their begin.
std::vector<std::string> check_footprints(surroundings& all, int shards, const std::vector<footprint>& before,
                                          std::string& words);

/// Invariant 10, second half: stops all relays with SIGTERM, and looks for what they have left on the
/// servers.
std::vector<std::string> stop_all(surroundings& all);

}  // namespace outboxd::chaos
