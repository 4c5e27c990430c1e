// crowd: HTTP clients of a relay: one that scrapes its metrics, and many that are slow at asking or at
// reading.
#pragma once

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace outboxd::bench {

struct crowd_options {
  int trickling = 25;  // send a request byte by byte, and none to its end
  int sipping = 25;    // ask again and again, and read the answers byte by byte
  std::chrono::milliseconds scrape_interval{1'000};
};

// What it has seen.
struct crowd_tally {
  std::vector<double> scrape_ms;
  int most_connected = 0;  // slow ones, at a time
};

// Asks 127.0.0.1:port, as soon as there is somebody, until leave(); who is thrown out comes back.
class crowd {
 public:
  crowd(std::uint16_t port, const crowd_options& how);

  crowd_tally leave();

 private:
  void scrape(const std::stop_token& stop);
  void dawdle(const std::stop_token& stop);

  std::uint16_t port_;
  crowd_options how_;
  crowd_tally seen_;
  std::jthread scraper_;
  std::jthread slow_;
};

}  // namespace outboxd::bench
