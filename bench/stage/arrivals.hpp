// arrivals: a consumer that notes when each numbered event came, in a thread of its own.
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
  std::int64_t number;     // "n" of the payload; what has none is not noted
  std::int64_t aggregate;  // "a" of the payload, -1 without
  std::chrono::steady_clock::time_point at;
};

class arrivals {
 public:
  // Takes everything from the queue, without acknowledgements.
  arrivals(const setup& on, const std::string& queue);
  ~arrivals();
  arrivals(const arrivals&) = delete;
  arrivals& operator=(const arrivals&) = delete;

  std::size_t count() const { return count_; }
  // In the order in which they came, since the last call. Throws what ended the consumer.
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
