// await: waits for conditions that take seconds or minutes, with rare checks, because frequent checks would
// compete with the relay.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "stage/interruption.hpp"

namespace outboxd::bench {

template <class Condition>
void await(const std::string& what, Condition&& condition,
           std::chrono::seconds limit = std::chrono::minutes{20},
           std::chrono::milliseconds poll_interval = std::chrono::milliseconds{100}) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    stop_if_interrupted();
    if (std::chrono::steady_clock::now() >= deadline) throw std::runtime_error("did not happen: " + what);
    std::this_thread::sleep_for(poll_interval);
  }
}

}  // namespace outboxd::bench
