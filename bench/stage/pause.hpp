// pause: lets a periodic thread sleep until its next turn or until it is asked to stop.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace outboxd::bench {

// Returns false if the thread was asked to stop.
inline bool pause(const std::stop_token& stop, std::chrono::steady_clock::duration how_long) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, how_long, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace outboxd::bench
