// arrivals: a consumer with its own thread that records when each numbered event arrived.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "stage/setup.hpp"

namespace outboxd::bench {

struct arrival {
  std::int64_t number;     // "n" of the payload; messages without it are ignored
  std::int64_t aggregate;  // "a" of the payload, or -1
  std::chrono::steady_clock::time_point at;
};

class arrivals {
 public:
  // Consumes all messages of the queue, without acknowledgements.
  arrivals(const setup& on, const std::string& queue);
  ~arrivals();
  arrivals(const arrivals&) = delete;
  arrivals& operator=(const arrivals&) = delete;

  std::size_t count() const { return count_; }
  // The arrivals since the last call, in order. Throws if the consumer has failed.
  std::vector<arrival> take();

 private:
  void consume(const std::string& url, const std::string& queue);

  std::atomic<bool> stopping_ = false;
  std::atomic<std::size_t> count_ = 0;
  std::mutex mutex_;
  std::vector<arrival> all_;  // guarded by mutex_
  std::string failure_;       // guarded by mutex_
  std::thread thread_;
};

}  // namespace outboxd::bench
