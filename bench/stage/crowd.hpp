// crowd: HTTP clients of a relay: one that scrapes its metrics, and many that are slow at sending or reading.
#pragma once

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace outboxd::bench {

struct crowd_options {
  int trickling = 25;  // clients that send a request byte by byte and never complete it
  int sipping = 25;    // clients that send many requests and read the responses byte by byte
  std::chrono::milliseconds scrape_interval{1'000};
};

// Counts of what happened.
struct crowd_tally {
  std::vector<double> scrape_ms;
  int most_connected = 0;  // maximum number of slow clients at a time
};

// Sends requests to 127.0.0.1:port, as soon as it accepts connections, until leave(); rejected clients
// reconnect.
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
