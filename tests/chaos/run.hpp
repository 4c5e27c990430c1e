// run: one chaos run: set-up, faults, healing, draining, verdict.
#pragma once

#include <atomic>

#include "options.hpp"

namespace outboxd::chaos {

/// The exit code. `interrupted`: heal, clean up, and go.
int run_chaos(const options& how, const std::atomic<bool>& interrupted);

}  // namespace outboxd::chaos
