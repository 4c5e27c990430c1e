// outage: one long broker outage with active writers: checks that no attempt is used, no event is dead,
// memory does not grow, and writers are not affected.
#pragma once

#include <atomic>

#include "options.hpp"

namespace outboxd::chaos {

/// Returns the exit code.
int run_outage(const options& how, const std::atomic<bool>& interrupted);

}  // namespace outboxd::chaos
