// instructions: the number of instructions that a relay executes per event. Unlike CPU time, it does not
// depend on the machine or its load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stage/setup.hpp"
#include "stage/stage.hpp"

namespace outboxd::bench {

// In user space, counted by valgrind's callgrind in a drain of so many events and in one of a sixth of them:
// the difference leaves out start and stop. Nothing if valgrind is not installed.
std::optional<double> instructions_per_event(const setup& on, const filling& how,
                                             const std::vector<std::string>& relay_flags = {});

}  // namespace outboxd::bench
