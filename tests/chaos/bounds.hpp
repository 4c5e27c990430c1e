// bounds: what the faults of a run explain, computed from their number and their lengths.
#pragma once

#include <chrono>
#include <string>

#include "verdict.hpp"

namespace outboxd::chaos {

/// Invariant 4: how many copies beyond the first the faults explain.
std::size_t allowed_duplicates(const evidence& from);

/// The longest time within a minute in which good events could not be routed: they must not have used up
/// their retries.
std::chrono::milliseconds longest_unroutable(const std::vector<injection>& faults);

/// Invariant 11, as a figure: commits while nothing was wrong, and while a broker or a relay was.
std::string commit_times(const evidence& from);

}  // namespace outboxd::chaos
