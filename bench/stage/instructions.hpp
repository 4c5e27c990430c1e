// instructions: how many instructions a relay runs for an event. Unlike its CPU time, the same on every
// machine and beside any load.
#pragma once

#include <cstdint>
#include <optional>

#include "stage/setup.hpp"

namespace outboxd::bench {

// In user space, counted by valgrind's callgrind in two drains of so many events, whose difference leaves out
// start and stop. Nothing if valgrind is not installed.
std::optional<double> instructions_per_event(const setup& on, std::int64_t few, std::int64_t more);

}  // namespace outboxd::bench
