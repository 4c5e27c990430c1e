// instructions: the number of instructions that a relay executes per event. Unlike CPU time, it does not
// depend on the machine or its load.
#pragma once

#include <cstdint>
#include <optional>

#include "stage/setup.hpp"

namespace outboxd::bench {

// Instructions in user space, counted by valgrind's callgrind in two drains of different size; their
// difference excludes start and stop. nullopt if valgrind is not installed.
std::optional<double> instructions_per_event(const setup& on, std::int64_t few, std::int64_t more);

}  // namespace outboxd::bench
