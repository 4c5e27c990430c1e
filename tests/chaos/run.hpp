// run: one chaos run: set-up, faults, repair, drain, verdict.
#pragma once

#include <atomic>

#include "options.hpp"

namespace outboxd::chaos {

/// Returns the exit code. `interrupted`: repair, clean up, and exit.
int run_chaos(const options& how, const std::atomic<bool>& interrupted);

}  // namespace outboxd::chaos
