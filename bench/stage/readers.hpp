// readers: people who have a page of the console open, each in a tab that is seen: it asks what that page
// asks, at its pace.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace outboxd::bench {

// How long answers took, in milliseconds.
struct readers_tally {
  std::vector<double> now_ms;
  std::vector<double> stuck_ms;
};

// Every other one looks at Now, the rest at Stuck.
class readers {
 public:
  readers(std::uint16_t port, int count);

  // Each of them has been answered.
  bool all_see() const { return seeing_ == static_cast<int>(threads_.size()); }
  // Throws when one of them got something else than an answer.
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
  std::vector<std::jthread> threads_;  // last: they use what is above
};

}  // namespace outboxd::bench
