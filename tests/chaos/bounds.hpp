// bounds: limits for the effects of a run's faults, computed from their number and durations.
#pragma once

#include <chrono>
#include <string>

#include "verdict.hpp"

namespace outboxd::chaos {

/// Invariant 4: how many duplicates the faults can explain.
std::size_t allowed_duplicates(const evidence& from);

/// The longest time within a minute in which good events could not be routed; their retries must last longer.
std::chrono::milliseconds longest_unroutable(const std::vector<injection>& faults);

/// A figure for invariant 11: commits without faults, and during faults of a broker or a relay.
std::string commit_times(const evidence& from);

}  // namespace outboxd::chaos
