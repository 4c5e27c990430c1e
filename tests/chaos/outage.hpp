// outage: one long outage of the broker with writers at work: no attempt used, nobody dead, memory flat,
// writers as before.
#pragma once

#include <atomic>

#include "options.hpp"

namespace outboxd::chaos {

/// The exit code.
int run_outage(const options& how, const std::atomic<bool>& interrupted);

}  // namespace outboxd::chaos
