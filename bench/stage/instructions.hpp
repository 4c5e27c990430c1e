// instructions: how many instructions a relay runs for an event. Unlike its CPU time, the same on every machine and beside
// any load.
#pragma once

#include <optional>

#include "stage/setup.hpp"

namespace outboxd::bench {

// In user space, counted by valgrind's callgrind in two small drains, whose difference leaves out start and stop. Nothing
// if valgrind is not installed.
std::optional<double> instructions_per_event(const setup& on);

}  // namespace outboxd::bench
