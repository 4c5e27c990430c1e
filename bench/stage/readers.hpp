// readers: simulates users who have a console page open in a visible tab: sends the page's requests at its
// intervals.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace outboxd::bench {

// Response times in milliseconds.
struct readers_tally {
  std::vector<double> now_ms;
  std::vector<double> stuck_ms;
};

// Half of the readers have the page Now open, the others the page Stuck.
class readers {
 public:
  readers(std::uint16_t port, int count);

  // True if each reader has received a response.
  bool all_see() const { return seeing_ == static_cast<int>(threads_.size()); }
  // Throws if a request of any reader failed.
  readers_tally leave();

 private:
  struct reader {
    bool of_now = false;
    std::vector<double> answered_ms;
    std::string failure;
  };

  void read(reader& by, const std::stop_token& stop);
  void look(reader& by, const std::stop_token& stop);

  std::uint16_t port_;
  std::atomic<int> seeing_ = 0;
  std::vector<reader> readers_;
  std::vector<std::jthread> threads_;  // last, because the threads use the members above
};

}  // namespace outboxd::bench
