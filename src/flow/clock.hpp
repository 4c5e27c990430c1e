// clock: the one that pure parts are told the time of; it never goes back.
#pragma once

#include <chrono>

namespace outboxd::flow {

using clock = std::chrono::steady_clock;

}  // namespace outboxd::flow
