// clock: the clock whose time pure parts are told; it never goes back.
#pragma once

#include <chrono>

namespace outboxd::flow {

using clock = std::chrono::steady_clock;

}  // namespace outboxd::flow
