// clock: the monotonic clock that supplies the time to pure components.
#pragma once

#include <chrono>

namespace outboxd::flow {

using clock = std::chrono::steady_clock;

}  // namespace outboxd::flow
